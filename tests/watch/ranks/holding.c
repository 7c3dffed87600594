/* The module holding: hold() waits without end and lets no other thread of Python run meanwhile. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <unistd.h>

static PyObject* hold(PyObject* self, PyObject* none) {
  (void)self;
  (void)none;
  for (;;) pause();
}

static PyMethodDef methods[] = {{"hold", hold, METH_NOARGS, "Never returns."}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "holding", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_holding(void) { return PyModule_Create(&module); }
