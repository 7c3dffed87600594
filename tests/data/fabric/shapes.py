#!/usr/bin/python3
"""Folders that stand for the "/" of machines: /sys, /proc and /dev as far as dlaunch reads them.

    tests/data/fabric/shapes.py FOLDER            one folder for each shape below
    tests/data/fabric/shapes.py FOLDER dgx-h100   one of them

Nothing here was copied from a machine. What the files say, and how, is taken from the kernel's sources: the functions
named *_show in drivers/infiniband/core/sysfs.c, Documentation/ABI/stable/sysfs-class-infiniband,
Documentation/ABI/testing/sysfs-bus-pci and sysfs-class-net, mlx5_core_pci_table; for GPUs from the README of NVIDIA's
driver. Which devices a machine has, and where, follows what its maker publishes: NVIDIA, "DGX H100 System User Guide";
Microsoft, sizes and topology files of ND A100 v4. No InfiniBand hardware has ever been seen by these tests.
"""

import os
import sys

MELLANOX, NVIDIA, INTEL = 0x15b3, 0x10de, 0x8086
OMNI_PATH = 0x24f0
CX3_VF, CX5_VF, CX6, CX6_VF, CX6_DX, CX6_LX, CX7 = 0x1004, 0x1018, 0x101b, 0x101c, 0x101d, 0x101f, 0x1021
ETHERNET, INFINIBAND, FABRIC, GPU, BRIDGE, OTHER_BRIDGE = 0x020000, 0x020700, 0x020800, 0x030200, 0x060400, 0x068000
STATES = {"NOP": 0, "DOWN": 1, "INIT": 2, "ARMED": 3, "ACTIVE": 4, "ACTIVE_DEFER": 5}
PHYSICAL = {"Sleep": 1, "Polling": 2, "Disabled": 3, "LinkUp": 5, "LinkErrorRecovery": 6}
NO_GID = "0000:0000:0000:0000:0000:0000:0000:0000"


class Machine:
    def __init__(self, root):
        self.root = root
        self.uverbs = 0
        self.gpus = 0
        self.interfaces = 0
        self.place = {}  # PCI address -> folder

    def file(self, path, text):
        whole = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, "w", encoding="ascii") as file:
            file.write(text)

    def link(self, path, target):
        """Relative, as in sysfs."""
        whole = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        os.symlink(os.path.relpath(os.path.join(self.root, target), os.path.dirname(whole)), whole)

    def cpus(self, count, nodes=1):
        self.file("sys/devices/system/cpu/online", f"0-{count - 1}\n")
        for node in range(nodes):
            each = count // nodes
            self.file(f"sys/devices/system/node/node{node}/cpulist", f"{node * each}-{(node + 1) * each - 1}\n")
        self.file("proc/meminfo", "MemTotal:       1056771724 kB\nMemAvailable:   1000000000 kB\n")

    def pci(self, path, vendor, device, kind, numa=-1, driver="", above=""):
        """`path`: "pci0000:15/0000:15:01.0/0000:18:00.0"; bridges on the way that are new are made. `above`: where the
        host bridge hangs, as below Hyper-V's VMBus."""
        parts = path.split("/")
        folder = os.path.join("sys/devices", above, parts[0])
        for bridge in parts[1:-1]:
            folder = os.path.join(folder, bridge)
            if bridge not in self.place:
                self.add_pci(folder, bridge, INTEL, 0x352a, BRIDGE, numa, "pcieport")
        folder = os.path.join(folder, parts[-1])
        self.add_pci(folder, parts[-1], vendor, device, kind, numa, driver)
        return parts[-1]

    def add_pci(self, folder, address, vendor, device, kind, numa, driver):
        self.place[address] = folder
        for name, text in (("vendor", f"0x{vendor:04x}"), ("device", f"0x{device:04x}"), ("class", f"0x{kind:06x}"),
                           ("numa_node", str(numa)),
                           ("modalias", f"pci:v{vendor:08X}d{device:08X}sv{vendor:08X}sd00000001"
                                        f"bc{kind >> 16:02X}sc{kind >> 8 & 255:02X}i{kind & 255:02X}")):
            self.file(f"{folder}/{name}", text + "\n")
        self.link(f"sys/bus/pci/devices/{address}", folder)
        if driver:
            os.makedirs(os.path.join(self.root, f"sys/bus/pci/drivers/{driver}"), exist_ok=True)
            self.link(f"{folder}/driver", f"sys/bus/pci/drivers/{driver}")

    def gpu(self, path, numa, model="NVIDIA H100 80GB HBM3", above=""):
        address = self.pci(path, NVIDIA, 0x2330, GPU, numa, "nvidia", above)
        minor, self.gpus = self.gpus, self.gpus + 1
        self.file(f"proc/driver/nvidia/gpus/{address}/information",
                  f"Model: \t\t {model}\nIRQ:   \t\t 18\n"
                  f"GPU UUID: \t GPU-0f2a7c1e-5b3d-4e6f-8a90-{minor:012d}\n"
                  f"Video BIOS: \t 96.00.89.00.01\nBus Type: \t PCIe\nDMA Size: \t 52 bits\n"
                  f"DMA Mask: \t 0xfffffffffffff\nBus Location: \t {address}\nDevice Minor: \t {minor}\n"
                  "GPU Firmware: \t 550.54.15\nGPU Excluded:\t No\n")
        self.file(f"dev/nvidia{minor}", "")
        self.file("proc/driver/nvidia/version",
                  "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\n"
                  "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n")

    def rdma(self, name, path, device=CX7, numa=-1, above="", kind=INFINIBAND, driver="mlx5_core", vendor=MELLANOX):
        """A device without ports; port() adds them."""
        address = self.pci(path, vendor, device, kind, numa, driver, above)
        folder = f"{self.place[address]}/infiniband/{name}"
        number = self.uverbs
        self.uverbs += 1
        guid = f"b83f:d203:00{number:02x}:1d2a"
        for file, text in (("node_type", "1: CA"), ("node_guid", guid), ("sys_image_guid", guid),
                           ("fw_ver", "28.39.1002"), ("hca_type", "MT4129"), ("node_desc", f"host {name}")):
            if file != "hca_type" or vendor == MELLANOX:
                self.file(f"{folder}/{file}", text + "\n")
        os.symlink(f"../../../{address}", os.path.join(self.root, folder, "device"))
        self.link(f"sys/class/infiniband/{name}", folder)
        verbs = f"sys/class/infiniband_verbs/uverbs{number}"
        for file, text in (("ibdev", name), ("dev", f"231:{192 + number}"), ("abi_version", "4" if driver == "mlx4_core" else "1")):
            self.file(f"{verbs}/{file}", text + "\n")
        self.file("sys/class/infiniband_verbs/abi_version", "6\n")
        self.file(f"dev/infiniband/uverbs{number}", "")
        return folder

    def port(self, device, rate, state="ACTIVE", physical="LinkUp", layer="InfiniBand", lid=0, gids=(), number=1,
             table=4):
        """`gids`: (gid, type, interface) from index 0; the rest of the table is empty, and there the kernel refuses to
        read the attributes."""
        at = f"{device}/ports/{number}"
        for file, text in (("state", f"{STATES[state]}: {state}"), ("phys_state", f"{PHYSICAL[physical]}: {physical}"),
                           ("rate", rate), ("link_layer", layer), ("lid", f"0x{lid:x}"),
                           ("sm_lid", "0x1" if lid else "0x0"), ("lid_mask_count", "0"), ("pkeys/0", "0xffff")):
            self.file(f"{at}/{file}", text + "\n")
        for index in range(max(table, len(gids))):
            gid, kind, interface = gids[index] if index < len(gids) else (NO_GID, "", "")
            self.file(f"{at}/gids/{index}", gid + "\n")
            if kind:
                self.file(f"{at}/gid_attrs/types/{index}", kind + "\n")
            if interface:
                self.file(f"{at}/gid_attrs/ndevs/{index}", interface + "\n")

    def infiniband(self, name, path, rate, lid, device=CX7, numa=-1, above="", state="ACTIVE", physical="LinkUp",
                   driver="mlx5_core"):
        folder = self.rdma(name, path, device, numa, above, driver=driver)
        gid = f"fe80:0000:0000:0000:b83f:d203:00{lid:02x}:1d2a"
        self.port(folder, rate, state, physical, lid=lid if state == "ACTIVE" else 0, gids=[(gid, "IB/RoCE v1", "")])

    def roce(self, name, path, rate, interface, ip, speed, device=CX7, numa=-1, above="", v2_at=3, driver="mlx5_core"):
        """`ip`: the last two bytes of 10.1.x.y as "0104"; empty: the interface has no address."""
        folder = self.rdma(name, path, device, numa, above, kind=ETHERNET, driver=driver)
        local = f"fe80:0000:0000:0000:0ac0:ebff:fe00:{speed % 65536:04x}"
        gids = [(local, "IB/RoCE v1", interface), (local, "RoCE v2", interface)]
        if ip:
            mapped = f"0000:0000:0000:0000:0000:ffff:0a01:{ip}"
            # An address that came, went, and came again leaves its place in the table empty.
            gids += [(NO_GID, "", "")] * (v2_at - 3)
            gids += [(mapped, "IB/RoCE v1", interface), (mapped, "RoCE v2", interface)]
        # mlx5 has 256 entries; two long tables are enough to read, and thousands of files take long to make.
        self.port(folder, rate, layer="Ethernet", gids=gids, table=40 if name == "mlx5_0" else 6)
        self.net(interface, path.split("/")[-1], speed)

    def net(self, name, address, speed, carrier=1, kind=1, master="", driver=""):
        """An interface of the PCI device, or, without address, of a device of another bus."""
        self.interfaces += 1
        parent = self.place[address] if address else f"sys/devices/VMBUS/{name}-device"
        folder = f"{parent}/net/{name}"
        for file, text in (("type", str(kind)), ("ifindex", str(self.interfaces + 1)), ("carrier", str(carrier)),
                           ("speed", str(speed)), ("mtu", "1500"), ("dev_port", "0"),
                           ("address", f"02:00:00:00:00:{self.interfaces:02x}")):
            self.file(f"{folder}/{file}", text + "\n")
        os.symlink(f"../../../{os.path.basename(parent)}", os.path.join(self.root, folder, "device"))
        if driver:
            os.makedirs(os.path.join(self.root, f"sys/bus/vmbus/drivers/{driver}"), exist_ok=True)
            self.link(f"{parent}/driver", f"sys/bus/vmbus/drivers/{driver}")
        self.link(f"sys/class/net/{name}", folder)
        if master:
            self.link(f"{folder}/master", f"sys/class/net/{master}")

    def module(self, name):
        self.file(f"sys/module/{name}/initstate", "live\n")


# A rail: a root port, a switch with a network card and a GPU below it.
def rail(bus, leaf, up=1):
    """Path of device `leaf` behind the switch of root bus `bus` (a number)."""
    root = f"pci0000:{bus:02x}/0000:{bus:02x}:01.0/0000:{bus + 1:02x}:00.0"
    return f"{root}/0000:{bus + 2:02x}:{up:02x}.0/0000:{leaf:02x}:00.0"


def dgx_h100(m):
    """8 rails of 400 Gb/s, each on a PCIe switch with its GPU; two more cards for storage on root ports of their own, of
    which one port each is InfiniBand and just as fast; NVSwitches. Numbers of devices follow the bus, not the rails."""
    m.cpus(224, 2)
    rails = ((0x15, 0x18, 0x1b), (0x3d, 0x40, 0x43), (0x4c, 0x4f, 0x52), (0x5b, 0x5e, 0x61),
             (0x97, 0x9a, 0x9d), (0xbd, 0xc0, 0xc3), (0xcb, 0xce, 0xd1), (0xd9, 0xdc, 0xdf))
    names = (0, 3, 4, 5, 6, 9, 10, 11)
    for i, (bus, card, gpu) in enumerate(rails):
        m.infiniband(f"mlx5_{names[i]}", rail(bus, card), "400 Gb/sec (4X NDR)", 10 + i, numa=i // 4)
        m.gpu(rail(bus, gpu, up=2), i // 4)
        m.net(f"ibp{card}s0", f"0000:{card:02x}:00.0", 400000, kind=32)
    for first, bus, numa in ((1, 0x29, 0), (7, 0xaa, 1)):
        port = f"pci0000:{bus - 1:02x}/0000:{bus - 1:02x}:01.0/0000:{bus:02x}:00"
        m.infiniband(f"mlx5_{first}", port + ".0", "400 Gb/sec (4X NDR)", 30 + first, numa=numa)
        m.roce(f"mlx5_{first + 1}", port + ".1", "100 Gb/sec (4X EDR)", f"enp{bus}s0f1np1", f"{bus:04x}", 100000, numa=numa)
    for i in range(4):
        m.pci(f"pci0000:0{i + 1}/0000:0{i + 1}:01.0/0000:0{i + 5}:00.0", NVIDIA, 0x22a3, OTHER_BRIDGE, 0)
    m.module("nvidia_peermem")


def azure_nd_a100_v4(m):
    """The virtual machine shows a PCI domain for each device and no switch. The Ethernet VF of Accelerated Networking is
    an ACTIVE mlx5 device too, and comes first; its interface is a part of the synthetic eth0."""
    m.cpus(96, 4)
    vmbus = "LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00/47505500-0001-0000-3130-4445323042"
    m.net("eth0", "", 50000, driver="hv_netvsc")
    m.roce("mlx5_an0", "pcibb00:00/bb00:00:02.0", "50 Gb/sec (1X HDR)", "enP47872s1", "", 50000, device=CX5_VF,
           above=vmbus + "00")
    m.link("sys/class/net/enP47872s1/master", "sys/class/net/eth0")
    for i, domain in enumerate((0x101, 0x102, 0x103, 0x104, 0x105, 0x106, 0x107, 0x108)):
        m.infiniband(f"mlx5_ib{i}", f"pci{domain:04x}:00/{domain:04x}:00:00.0", "200 Gb/sec (4X HDR)", 0x40 + i,
                     device=CX6_VF, numa=i // 2, above=f"{vmbus}{i + 1:02x}")
    for i, domain in enumerate((1, 2, 3, 4, 11, 12, 13, 14)):
        m.gpu(f"pci{domain:04x}:00/{domain:04x}:00:00.0", i // 2, "NVIDIA A100-SXM4-40GB", above=f"{vmbus}{i + 20:02x}")
    m.file("etc/nccl.conf", "# written by the image\nNCCL_IB_PCI_RELAXED_ORDERING=1\nNCCL_TOPO_FILE=/opt/microsoft/ndv4-topo.xml\n")


def azure_nc24rs_v3(m):
    """The one InfiniBand port is ConnectX-3 with SR-IOV; mlx5_0 is Ethernet."""
    m.cpus(24)
    vmbus = "LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00/47505500-0001-0000-3130-4445323043"
    m.net("eth0", "", 40000, driver="hv_netvsc")
    m.roce("mlx5_0", "pci0001:00/0001:00:02.0", "40 Gb/sec (4X QDR)", "enP1s1", "", 40000, device=CX5_VF, above=vmbus + "00")
    m.link("sys/class/net/enP1s1/master", "sys/class/net/eth0")
    m.infiniband("mlx4_0", "pci0002:00/0002:00:02.0", "56 Gb/sec (4X FDR)", 0x21, device=CX3_VF, above=vmbus + "01",
                 driver="mlx4_core")
    for i in range(4):
        m.gpu(f"pci000{i + 4}:00/000{i + 4}:00:00.0", -1, "Tesla V100-PCIE-16GB", above=f"{vmbus}{i + 2:02x}")


def azure_without_infiniband(m):
    """Only Accelerated Networking. The kernel puts addresses of the interface that the VF is a part of into the VF's own
    table (roce_gid_mgmt.c, is_eth_port_of_netdev_filter), so that it looks like RoCE with an address."""
    m.cpus(48, 2)
    vmbus = "LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00/47505500-0001-0000-3130-4445323044"
    m.net("eth0", "", 40000, driver="hv_netvsc")
    folder = m.rdma("mlx5_0", "pci0001:00/0001:00:02.0", CX5_VF, above=vmbus + "00", kind=ETHERNET)
    local = "fe80:0000:0000:0000:0222:48ff:fe00:0001"
    mapped = "0000:0000:0000:0000:0000:ffff:0a01:0004"
    m.port(folder, "40 Gb/sec (4X QDR)", layer="Ethernet",
           gids=[(gid, kind, "eth0") for gid in (local, mapped) for kind in ("IB/RoCE v1", "RoCE v2")])
    m.net("enP1s1", "0001:00:02.0", 40000, master="eth0")
    for i in range(2):
        m.gpu(f"pci000{i + 2}:00/000{i + 2}:00:00.0", i, "NVIDIA A100 80GB PCIe", above=f"{vmbus}{i + 1:02x}")


def omni_path(m):
    """hfi1 is an InfiniBand device in sysfs (rdma_port_get_link_layer), but MPI speaks PSM2 over it, and NCCL a plugin."""
    m.cpus(64, 2)
    for i in range(2):
        folder = m.rdma(f"hfi1_{i}", rail(0x20 + 0x40 * i, 0x24 + 0x40 * i), OMNI_PATH, numa=i, kind=FABRIC, driver="hfi1",
                        vendor=INTEL)
        m.port(folder, "100 Gb/sec (4X EDR)", lid=i + 1, gids=[(f"fe80:0000:0000:0000:0011:7501:0101:000{i + 1}", "IB/RoCE v1", "")])
        m.gpu(rail(0x20 + 0x40 * i, 0x25 + 0x40 * i, up=2), i, "Tesla V100-PCIE-16GB")


def topology_service(m):
    """As azure-nd-a100-v4, but the hypervisor's service tells the switches, in the file that NCCL reads by itself."""
    azure_nd_a100_v4(m)
    os.remove(os.path.join(m.root, "etc/nccl.conf"))
    m.file("var/run/nvidia-topologyd/virtualTopology.xml", '<system version="1"/>\n')


def roce_without_ipv4(m):
    """Four rails over Ethernet, of which one interface has lost its address."""
    m.cpus(64, 2)
    for i in range(4):
        bus = 0x20 + 0x20 * i
        m.roce(f"mlx5_{i}", rail(bus, bus + 4), "200 Gb/sec (4X HDR)", f"ens{i + 1}np0", "" if i == 2 else f"0{i + 1}04", 200000,
               device=CX6, numa=i // 2)
        m.gpu(rail(bus, bus + 5, up=2), i // 2, "NVIDIA A100-SXM4-80GB")


def roce_v2(m, v2_at=3):
    """Eight rails over Ethernet and a 25 Gb/s card for everything else."""
    m.cpus(128, 2)
    for i in range(8):
        bus = 0x10 + 0x18 * i
        m.roce(f"mlx5_{i}", rail(bus, bus + 4), "400 Gb/sec (4X NDR)", f"ens{i + 1}np0", f"0{i + 1}04", 400000, numa=i // 4,
               v2_at=v2_at if i == 7 else 3)
        m.gpu(rail(bus, bus + 5, up=2), i // 4)
    m.roce("mlx5_8", "pci0000:e0/0000:e0:01.0/0000:e1:00.0", "25 Gb/sec (1X EDR)", "eno1np0", "ff04", 25000,
           device=CX6_LX, numa=1)


def roce_v2_uneven(m):
    """One of the eight has its RoCE v2 address elsewhere in the table."""
    roce_v2(m, v2_at=5)


def four_rails(m, states=("ACTIVE",) * 4, rates=("200 Gb/sec (4X HDR)",) * 4):
    m.cpus(64, 2)
    for i in range(4):
        bus = 0x20 + 0x20 * i
        physical = "LinkUp" if states[i] == "ACTIVE" else "Polling"
        m.infiniband(f"mlx5_{i}", rail(bus, bus + 4), rates[i], 0x50 + i, device=CX6, numa=i // 2, state=states[i],
                     physical=physical)
        m.gpu(rail(bus, bus + 5, up=2), i // 2, "NVIDIA A100-SXM4-80GB")


def port_down(m):
    """A link that never came up shows the rate of four SDR lanes."""
    four_rails(m, states=("ACTIVE", "ACTIVE", "DOWN", "ACTIVE"),
               rates=("200 Gb/sec (4X HDR)", "200 Gb/sec (4X HDR)", "10 Gb/sec (4X SDR)", "200 Gb/sec (4X HDR)"))


def half_rate(m):
    """A cable with two dead lanes."""
    four_rails(m, rates=("200 Gb/sec (4X HDR)", "100 Gb/sec (2X HDR)", "200 Gb/sec (4X HDR)", "200 Gb/sec (4X HDR)"))


def mixed_cx6_cx7(m):
    """ConnectX-7 for InfiniBand, ConnectX-6 Dx for Ethernet, numbered as the bus has them; no GPU on a switch with them."""
    m.cpus(64, 2)
    m.roce("mlx5_0", "pci0000:11/0000:11:01.0/0000:12:00.0", "100 Gb/sec (4X EDR)", "ens1f0np0", "0204", 100000, device=CX6_DX, numa=0)
    m.infiniband("mlx5_1", "pci0000:31/0000:31:01.0/0000:32:00.0", "400 Gb/sec (4X NDR)", 5, numa=0)
    m.roce("mlx5_2", "pci0000:51/0000:51:01.0/0000:52:00.0", "100 Gb/sec (4X EDR)", "ens2f0np0", "0304", 100000, device=CX6_DX, numa=1)
    m.infiniband("mlx5_10", "pci0000:71/0000:71:01.0/0000:72:00.0", "400 Gb/sec (4X NDR)", 6, numa=1)
    for i in range(2):
        m.gpu(f"pci0000:{0x91 + i * 0x10:02x}/0000:{0x91 + i * 0x10:02x}:01.0/0000:{0x92 + i * 0x10:02x}:00.0", i)


def driver_without_device(m):
    m.cpus(8)
    os.makedirs(os.path.join(m.root, "sys/class/infiniband"))
    m.module("ib_core")
    m.net("eth0", m.pci("pci0000:00/0000:00:03.0", 0x1af4, 0x1000, ETHERNET, driver="virtio-pci"), -1)


def no_rdma(m):
    """A cloud machine with one GPU."""
    m.cpus(8)
    m.gpu("pci0000:00/0000:00:1e.0", -1, "Tesla T4")
    m.net("ens5", m.pci("pci0000:00/0000:00:05.0", 0x1d0f, 0xec20, ETHERNET, driver="ena"), -1)


def container(m):
    """The card is on the bus, but neither its class nor its files are there; and no GPU was given to the container."""
    m.cpus(8)
    m.pci("pci0000:15/0000:15:01.0/0000:18:00.0", MELLANOX, CX7, INFINIBAND, 0, "mlx5_core")
    m.gpu("pci0000:15/0000:15:02.0/0000:1b:00.0", 0)
    os.remove(os.path.join(m.root, "dev/nvidia0"))


def container_without_files(m):
    """/sys shows the host's devices, /dev has none of their files (no --device=/dev/infiniband)."""
    four_rails(m)
    for name in os.listdir(os.path.join(m.root, "dev/infiniband")):
        os.remove(os.path.join(m.root, "dev/infiniband", name))
    os.rmdir(os.path.join(m.root, "dev/infiniband"))


SHAPES = {function.__name__.replace("_", "-"): function for function in (
    dgx_h100, azure_nd_a100_v4, azure_nc24rs_v3, azure_without_infiniband, topology_service, omni_path, roce_v2,
    roce_v2_uneven, roce_without_ipv4, four_rails, port_down, half_rate,
    mixed_cx6_cx7, driver_without_device, no_rdma, container, container_without_files)}


def make(folder, names=tuple(SHAPES)):
    for name in names:
        root = os.path.join(folder, name)
        os.makedirs(root)
        SHAPES[name](Machine(root))


if __name__ == "__main__":
    if len(sys.argv) < 2 or any(name not in SHAPES for name in sys.argv[2:]):
        sys.exit(__doc__ + "\nshapes: " + " ".join(SHAPES))
    make(sys.argv[1], tuple(sys.argv[2:]) or tuple(SHAPES))
