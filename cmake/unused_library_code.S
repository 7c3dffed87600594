/* Stands for code of static libraries that dlaunch never executes but that a function in them refers to. The linker finds the names here first
   and leaves out what they would bring in: 0.4 MB of 6.5. (--defsym is no substitute: gold removes unused code before it looks at that.) */

/* The classic locale has facets for wide characters, money, time, collation and message catalogues, which streams use only on request; these
   virtual tables replace theirs. has_facet() looks at the type. */
.macro unused_facets symbols:vararg
  .irp symbol, \symbols
    .globl \symbol
    \symbol:
  .endr
.endm

.section .data.rel.ro.unused_facets, "aw"
.balign 8
unused_facets _ZTVNSt7__cxx1110moneypunctIcLb0EEE, _ZTVNSt7__cxx1110moneypunctIcLb1EEE, _ZTVNSt7__cxx1110moneypunctIwLb0EEE
unused_facets _ZTVNSt7__cxx1110moneypunctIwLb1EEE, _ZTVNSt7__cxx117collateIcEE, _ZTVNSt7__cxx117collateIwEE, _ZTVNSt7__cxx118messagesIcEE
unused_facets _ZTVNSt7__cxx118messagesIwEE, _ZTVNSt7__cxx118numpunctIwEE
unused_facets _ZTVNSt7__cxx118time_getIcSt19istreambuf_iteratorIcSt11char_traitsIcEEEE
unused_facets _ZTVNSt7__cxx118time_getIwSt19istreambuf_iteratorIwSt11char_traitsIwEEEE
unused_facets _ZTVNSt7__cxx119money_getIcSt19istreambuf_iteratorIcSt11char_traitsIcEEEE
unused_facets _ZTVNSt7__cxx119money_getIwSt19istreambuf_iteratorIwSt11char_traitsIwEEEE
unused_facets _ZTVNSt7__cxx119money_putIcSt19ostreambuf_iteratorIcSt11char_traitsIcEEEE
unused_facets _ZTVNSt7__cxx119money_putIwSt19ostreambuf_iteratorIwSt11char_traitsIwEEEE, _ZTVSt10moneypunctIcLb0EE, _ZTVSt10moneypunctIcLb1EE
unused_facets _ZTVSt10moneypunctIwLb0EE, _ZTVSt10moneypunctIwLb1EE, _ZTVSt11__timepunctIcE, _ZTVSt11__timepunctIwE, _ZTVSt16__numpunct_cacheIwE
unused_facets _ZTVSt17__timepunct_cacheIcE, _ZTVSt17__timepunct_cacheIwE, _ZTVSt18__moneypunct_cacheIcLb0EE, _ZTVSt18__moneypunct_cacheIcLb1EE
unused_facets _ZTVSt18__moneypunct_cacheIwLb0EE, _ZTVSt18__moneypunct_cacheIwLb1EE, _ZTVSt21__ctype_abstract_baseIwE
unused_facets _ZTVSt23__codecvt_abstract_baseIwc11__mbstate_tE, _ZTVSt5ctypeIwE, _ZTVSt7codecvtIwc11__mbstate_tE, _ZTVSt7collateIcE
unused_facets _ZTVSt7collateIwE, _ZTVSt7num_getIwSt19istreambuf_iteratorIwSt11char_traitsIwEEE
unused_facets _ZTVSt7num_putIwSt19ostreambuf_iteratorIwSt11char_traitsIwEEE, _ZTVSt8messagesIcE, _ZTVSt8messagesIwE, _ZTVSt8numpunctIwE
unused_facets _ZTVSt8time_getIcSt19istreambuf_iteratorIcSt11char_traitsIcEEE, _ZTVSt8time_getIwSt19istreambuf_iteratorIwSt11char_traitsIwEEE
unused_facets _ZTVSt8time_putIcSt19ostreambuf_iteratorIcSt11char_traitsIcEEE, _ZTVSt8time_putIwSt19ostreambuf_iteratorIwSt11char_traitsIwEEE
unused_facets _ZTVSt9money_getIcSt19istreambuf_iteratorIcSt11char_traitsIcEEE, _ZTVSt9money_getIwSt19istreambuf_iteratorIwSt11char_traitsIwEEE
unused_facets _ZTVSt9money_putIcSt19ostreambuf_iteratorIcSt11char_traitsIcEEE, _ZTVSt9money_putIwSt19ostreambuf_iteratorIwSt11char_traitsIwEEE
.quad 0, _ZTINSt6locale5facetE
.rept 32  /* more than the longest of them has */
  .quad abort
.endr

/* gconv would use dlopen() to load character sets that libc lacks; here there are none. */
.text
.globl __gconv_find_shlib, __gconv_release_shlib
__gconv_find_shlib:
__gconv_release_shlib:
#ifdef __aarch64__
  mov x0, 0
#else
  xor %eax, %eax
#endif
  ret

/* For facets that use the other string ABI and replace one of the classic locale; and for iconv's //TRANSLIT. */
.globl _ZNKSt6locale5facet11_M_sso_shimEPKNS_2idE, _ZNKSt6locale5facet11_M_cow_shimEPKNS_2idE, __gconv_transliterate
_ZNKSt6locale5facet11_M_sso_shimEPKNS_2idE:
_ZNKSt6locale5facet11_M_cow_shimEPKNS_2idE:
__gconv_transliterate:
#ifdef __aarch64__
  b abort
#else
  jmp abort
#endif

/* RE2's tables of \p{Greek} and the like, as an empty list: such a pattern is an error. */
.section .rodata.no_unicode_groups, "a"
.balign 8
.globl _ZN3re214unicode_groupsE, _ZN3re218num_unicode_groupsE
_ZN3re214unicode_groupsE:
_ZN3re218num_unicode_groupsE:
  .quad 0

.section .note.GNU-stack, "", %progbits
