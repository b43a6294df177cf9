"""The tables of the other backends to rows: rocm.json, ascend.json, xpu.json, jetson.json, vendors.json."""

from __future__ import annotations

from torchinstall.catalog.backend_rows import (
    Access,
    AscendTables,
    CannDriver,
    CannWindow,
    Dependent,
    Feature,
    JetPack,
    Maker,
    NoWheel,
    NpuRow,
    RocmCode,
    RocmDriver,
    RocmFault,
    RocmTables,
    SetEnv,
    Soc,
    Undeclared,
    VendorBuild,
    XpuFamily,
    XpuTables,
)
from torchinstall.catalog.parse_releases import wheel_tags
from torchinstall.catalog.row_reader import RowReader, top
from torchinstall.catalog.rows import Build, Companion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def parse_rocm(document: object, file: str) -> RocmTables:
    """Return what is known of ROCm wheels: code by version, faults, conditions, and AMD's own builds."""
    sheet = top(document, file)
    code = {}
    for row in sheet.rows("code", ("rocm",)):
        rocm = row.text("rocm")
        if rocm in code:
            row.fail(f"ROCm {rocm} stands there twice")
        code[rocm] = RocmCode(rocm=rocm, gfx=row.texts("gfx"), **_origin(row))
    return RocmTables(
        code=code,
        faults=tuple(
            RocmFault(
                gfx=row.text("gfx"),
                rocm_from=row.text("rocm_from"),
                rocm_below=row.optional_text("rocm_below"),
                torch_from=row.optional_text("torch_from"),
                **_origin(row),
            )
            for row in sheet.rows("faults", ("gfx",))
        ),
        drivers=tuple(
            RocmDriver(rocm=row.text("rocm"), dkms=row.text("dkms"), host_rocm=row.text("host_rocm"), **_origin(row))
            for row in sheet.rows("drivers", ("rocm",))
        ),
        features=tuple(
            Feature(
                feature=row.text("feature"),
                rocm_from=row.text("rocm_from"),
                torch_from=row.text("torch_from"),
                **_origin(row),
            )
            for row in sheet.rows("features", ("feature",))
        ),
        access=tuple(_access(row) for row in sheet.rows("access", ("platform", "what"))),
        none=tuple(
            NoWheel(gfx=row.texts("gfx"), name=row.text("name"), **_origin(row))
            for row in sheet.rows("none", ("name",))
        ),
        builds=tuple(_vendor_build(row) for row in sheet.rows("builds", ("torch", "variant", "platform"))),
    )


def parse_ascend(document: object, file: str) -> AscendTables:
    """Return the torch-npu rows, newest first as they stand there, and the rules about CANN beside them."""
    sheet = top(document, file)
    rows = []
    seen: set[tuple[str, str]] = set()
    for row in sheet.rows("rows", ("torch_npu", "arch")):
        npu = _npu_row(row)
        if (npu.torch_npu, npu.arch) in seen:
            row.fail(f"torch-npu {npu.torch_npu} {npu.arch} stands there twice")
        seen.add((npu.torch_npu, npu.arch))
        rows.append(npu)
    return AscendTables(
        rows=tuple(rows),
        windows=tuple(
            CannWindow(
                releases_from=row.text("releases_from"),
                cann_from=row.text("cann_from"),
                cann_to=row.text("cann_to"),
                **_origin(row),
            )
            for row in sheet.rows("windows", ("releases_from",))
        ),
        drivers=tuple(
            CannDriver(cann_from=row.text("cann_from"), minimum=row.text("minimum"), **_origin(row))
            for row in sheet.rows("drivers", ("cann_from",))
        ),
        socs=tuple(
            Soc(
                family=row.text("family"),
                pattern=row.text("pattern"),
                cann_from=row.optional_text("cann_from"),
                **_origin(row),
            )
            for row in sheet.rows("socs", ("family",))
        ),
        environment=tuple(
            SetEnv(cann_from=row.optional_text("cann_from"), script=row.text("script"), **_origin(row))
            for row in sheet.rows("environment", ("script",))
        ),
        undeclared=tuple(
            Undeclared(name=row.text("name"), version=row.text("version"), pythons=row.texts("pythons"), **_origin(row))
            for row in sheet.rows("undeclared", ("name", "version"))
        ),
        cann_needs=tuple(row.text("name") for row in sheet.rows("cann_needs", ("name",))),
    )


def parse_xpu(document: object, file: str) -> XpuTables:
    """Return the Intel families with the first torch that lists them, and what the system must bring."""
    sheet = top(document, file)
    return XpuTables(
        families=tuple(
            XpuFamily(family=row.text("family"), torch_from=row.text("torch_from"), **_origin(row))
            for row in sheet.rows("families", ("family",))
        ),
        access=tuple(_access(row) for row in sheet.rows("access", ("platform", "what"))),
    )


def parse_jetpacks(document: object, file: str) -> tuple[JetPack, ...]:
    """Return the JetPack lines."""
    return tuple(
        JetPack(jetpack=row.text("jetpack"), l4t=row.text("l4t"), **_origin(row))
        for row in top(document, file).rows("jetpacks", ("jetpack",))
    )


def parse_dependents(document: object, file: str) -> tuple[Dependent, ...]:
    """Return the packages that require torch, newest releases first as they stand there."""
    return tuple(
        Dependent(
            name=row.text("name"),
            version=row.text("version"),
            requires=row.texts("requires"),
            wheels=wheel_tags(row),
            default_cuda=row.flag("default_cuda"),
            **_origin(row),
        )
        for row in top(document, file).rows("rows", ("name", "version"))
    )


def parse_makers(document: object, file: str) -> tuple[Maker, ...]:
    """Return the makers that have PyTorch builds of their own."""
    return tuple(
        Maker(
            vendor=row.text("vendor"),
            name=row.text("name"),
            device=row.text("device"),
            advice=row.text("advice"),
            advice_zh=row.text("advice_zh"),
            aliases=row.texts("aliases"),
            **_origin(row),
        )
        for row in top(document, file).rows("vendors", ("vendor",))
    )


def _origin(row: RowReader) -> dict[str, Any]:
    return {"status": row.status(), "source": row.source(), "checked": row.text("checked")}


def _access(row: RowReader) -> Access:
    return Access(
        platform=row.text("platform"),
        what=row.text("what"),
        note=row.text("note"),
        wsl=row.flag("wsl"),
        **_origin(row),
    )


def _npu_row(row: RowReader) -> NpuRow:
    return NpuRow(
        torch_npu=row.text("torch_npu"),
        torch=row.text("torch"),
        arch=row.text("arch"),
        wheels=wheel_tags(row),
        cann=row.optional_text("cann"),
        release=row.optional_text("release"),
        prerelease=row.flag("prerelease"),
        partial=row.flag("partial"),
        declares=row.texts("declares"),
        **_origin(row),
    )


def _vendor_build(row: RowReader) -> VendorBuild:
    torch, variant, platform = row.text("torch"), row.text("variant"), row.text("platform")
    extra = row.optional_text("extra") or ""
    companions = tuple(
        Companion(
            name=inner.text("name"),
            version=inner.text("version"),
            torch=torch,
            variants=(variant,),
            platforms=(platform,),
            wheels=wheel_tags(row),
            **_origin(inner),
        )
        for inner in row.rows("companions", ("name", "version"))
    )
    with_code = tuple(inner.text("name") for inner in row.rows("companions", ("name",)) if inner.flag("extra"))
    families = row.fields.get("families") or {}
    inside = RowReader(families, row.file, f"{row.where}, families", row.sources)
    return VendorBuild(
        build=Build(
            torch=torch,
            variant=variant,
            platform=platform,
            local=f"+{variant}",
            wheels=wheel_tags(row),
            index=row.text("index").rstrip("/"),
            extras_on=("torch", *with_code) if extra else (),
            **_origin(row),
        ),
        gfx=row.texts("gfx"),
        extra=extra,
        families=tuple((name, inside.texts(name)) for name in families),
        companions=companions,
    )
