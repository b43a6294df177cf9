"""Every sentence of the decision, by rule. One table, so that another language is one more table.

``{names}`` are filled from the facts; numbers and commands are the same in every language.
"""

from __future__ import annotations

from torchinstall.model.plan import Reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

ENGLISH: dict[str, str] = {
    # why a candidate loses: the wheel
    "withdrawn": "torch {torch} has no {variant} wheels: withdrawn or never published",
    "yanked": "torch {torch} was yanked",
    "status": "the {variant} wheels of torch {torch} are {status}; they count when an index shows them or when you name the variant",
    "no-python": "no {variant} wheel of torch {torch} for Python {python}; there are wheels for {pythons}",
    "python-implementation": "torch has wheels for CPython only; this is {implementation}",
    "python-bits": "torch has no wheels for 32-bit Python",
    "glibc": "the {variant} wheels of torch {torch} need glibc >= {minimum}; here is {found}",
    "musl": "torch has no wheels for musl (Alpine); a glibc distribution is needed",
    "macos-tag": "the wheel of torch {torch} needs macOS >= {minimum}; here is {found}",
    "macos-mps": "MPS in torch {torch} needs macOS >= {minimum}; here is {found}",
    "no-platform": "torch has no wheels for {platform}",
    "absent": "{url} has no torch {torch}+{variant} wheel for this Python and platform",
    # why a candidate loses: the request
    "other-variant": "you asked for {variant}",
    "version": "{requirement} (from {origin}) excludes it",
    "pre-release": "pre-releases are chosen only with --pre",
    "companion": "{name} has no wheel that belongs to it",
    "companion-version": "{requirement} (from {origin}) excludes the {name} that belongs to it",
    # why a candidate loses: the machine
    "backend": "a {variant} build doesn't use {target}",
    "not-cpu": "a CPU build would leave {target} unused; ask for it with --cpu",
    "no-kernel": "the {variant} wheels of torch {torch} have no code for {card} (compute capability {cc}): only {archs}",
    "arch-unknown": "which GPUs the {variant} wheels of torch {torch} have code for isn't known",
    "driver-too-old": "CUDA {major} wheels need an NVIDIA driver >= {minimum}; here is {found}",
    "tegra-none": "the ordinary aarch64 CUDA wheels don't run on {card}: {advice}",
    "tegra-l4t": "{card} runs ordinary CUDA wheels from L4T {minimum} on; here is {found}: {advice}",
    "tegra-cuda": "{card} runs ordinary wheels of CUDA >= {minimum} only",
    # why a candidate loses: ROCm
    "rocm-no-code": "the {variant} wheels of torch {torch} have no code for {card} ({gfx}): only {archs}",
    "rocm-no-wheel": "nobody publishes a torch wheel for {card} ({gfx}, {name})",
    "rocm-libraries": "{variant} lists {gfx}, but from ROCm {limit} on its libraries have nothing for {card}",
    "rocm-torch": "{variant} lists {gfx}, but with torch {limit} and later nobody has reported {card} to work",
    "rocm-early": "{variant} lists {gfx}, but {card} works only from ROCm {limit} on",
    "rocm-unknown": "which GPUs the {variant} wheels of torch {torch} have code for isn't known",
    "rocm-driver": "ROCm {rocm} wheels want amdgpu from AMD's packages (>= {dkms}) or a host ROCm >= {rocm}; an older ROCm serves this card without",
    "rocm-vendor": "PyTorch's own wheels serve {gfx}; AMD's index is for what they don't serve",
    "rocm-wsl": "PyTorch's {variant} wheels open /dev/kfd, which WSL2 doesn't have; AMD's own wheels are the ones for WSL2",
    # why a candidate loses: Ascend, Intel
    "npu-none": "no released torch-npu belongs to torch {torch}",
    "backend-platform": "there are no {backend} wheels of torch for {platform}",
    "npu-platform": "torch-npu has wheels for Linux on x86_64 and aarch64 only, none for {platform}",
    "npu-newest": "no released torch-npu belongs to torch {torch}; the newest is {npu}, for torch {newest}",
    "cann-too-old": "torch-npu {npu} (torch {torch}) needs CANN {wanted}; here is {found}",
    "cann-other": "torch-npu {npu} (torch {torch}) is made for CANN {wanted}; here is {found}",
    "cann-soc": "{card} needs CANN >= {minimum}; here is {found}",
    "xpu-family": "{card} ({family}) is listed from torch {minimum} on",
    # why a valid candidate isn't the choice
    "not-newest": "torch {chosen} is newer and fits too",
    "not-default": "{chosen} is what the default index serves for torch {torch}",
    "lower-cuda": "{chosen} is the higher CUDA that fits",
    "lower-rocm": "{chosen} is the ROCm chosen for torch {torch}",
    "experimental": "{variant} was experimental in torch {torch}; {chosen} wasn't",
    # why the choice
    "chosen-newest": "torch {torch} is the newest release that fits this machine and the request",
    "chosen-only": "{variant} is the only variant of torch {torch} that fits",
    "chosen-default": "{variant} is what the default index serves for torch {torch} on this platform",
    "chosen-as-linux": "{variant} is the variant that the default index serves for torch {torch} on Linux",
    "chosen-highest": "{variant} is the highest {kind} of torch {torch} that fits",
    "chosen-bundled": "{variant} is the variant that the bundle holds",
    "chosen-named": "{variant} is the variant that you named",
    "covers": "{card} (compute capability {cc}) runs the wheel's {code} code",
    "rocm-covers": "{card} ({gfx}) has code in the {variant} wheels",
    "rocm-amd-index": "torch {torch} for it comes from AMD's own index ({url})",
    "rocm-driver-ok": "AMD's stack here ({found}) is new enough for ROCm {rocm} wheels",
    "rocm-feature": "{feature} works with it (from ROCm {rocm} and torch {torch} on)",
    "npu-pair": "torch-npu {npu} is made for torch {torch}, and wants the CPU build of it",
    "npu-soc-unknown": "{card} isn't among the chips that torch-npu documents; one wheel serves all that are",
    "cann-ok": "CANN {found} is one that torch-npu {npu} runs with ({wanted})",
    "cann-assumed": "no CANN is known here: CANN {wanted} is assumed for torch-npu {npu}",
    "xpu-covers": "{card} ({family}) is among the GPUs that torch lists for XPU (from {minimum} on)",
    "driver-ok": "driver {found} reaches {minimum}, the floor of CUDA {major} wheels on this card",
    "driver-assumed": "no driver is known here: a driver >= {minimum} is assumed",
    "driver-assumed-below": "no driver is known here: a driver >= {minimum} and below {below} is assumed",
    "driver-compat": "driver {found} is below {minimum}, but libcuda answers CUDA {libcuda} (forward compatibility): that counts",
    "no-accelerator": "no accelerator was found here: {variant} builds have nothing to run on",
    "cpu-machine": "no accelerator was found here, so this is a CPU build",
    "cpu-asked": "a CPU build, because you asked for it",
    "mps": "Apple silicon: the plain macOS wheel has MPS in it",
    "kept-beside": "torch {torch} is installed and fits this machine; what is asked for is taken for it",
    "kept": "torch {torch} ({variant}) is installed, satisfies the request and fits this machine",
    "kept-vendor": "torch {version} is a vendor's build ({by}) and satisfies the request: it stays",
    "kept-proved": "torch {torch} is installed and passed verification here, which counts for more than the tables",
    "companion-pinned": "{name} {version} is the one that belongs to torch {torch} ({variant})",
    "seen-live": "{url} has the wheel (looked at just now)",
    # where from
    "fallback-own": "{index} can't be reached ({error}): torch {torch}+{variant} comes from {where}, which you have configured",
    "fallback-own-older": (
        "{index} can't be reached ({error}): instead of torch {ideal} the newest fitting one in {where}, "
        "which you have configured, is taken"
    ),
    "fallback-older": "{index} can't be reached ({error}): torch {torch} is taken instead of {ideal}, as --allow-older permits",
    "fallback-patch": "{index} can't be reached ({error}): torch {torch} is taken instead of {ideal}; only the patch release differs",
    "from-bundle": "torch {torch}+{variant} comes from the bundle ({where}); no index is asked",
    "own-source": "torch {torch}+{variant} comes from {where}, which you have configured",
    "index-unreachable": "{index} can't be reached ({error}), and torch {torch}+{variant} is served there only",
    # cards
    "masked": "{card} is hidden by {variable}={value}",
    "mask-empty": "{variable} is set to '{value}': programs started here see no GPU; the plan counts the cards all the same",
    "mask-none": (
        "{variable}={value} names no card that is here: programs started here see no GPU; "
        "the plan counts the cards all the same"
    ),
    "hsa-override": "{variable}={value} is set: ROCm takes the cards for other chips; the plan goes by the chips that they are",
    "left-dropped": "{card} is left out: drivers from {branch} on no longer support it (the last branch that does is {last})",
    "left-new": "{card} is left out: the driver must be >= {minimum} to know it; here is {found}",
    "left-driver": "{card} is left out: it is bound to {driver}",
    "left-unbound": "{card} is left out: no kernel driver is bound to it, and NVIDIA's drives another card",
    "modules-differ": "on Linux {old} needs the closed NVIDIA kernel module and {new} the open one: one driver can't serve both at once",
    "left-module": "{card} is left out: the {module} kernel module doesn't drive it; it needs the {other} one",
    "named-unverified": (
        "nobody has measured or listed the {variant} wheel of torch {torch}: "
        "it is taken because you named it, and may not be there"
    ),
    "named-unsure": "the {variant} wheel of torch {torch} is {status}: it is taken because you named it",
    "need-unmet": "{what} >= {minimum} is needed ({note}); here is {found}",
    "dependent-unknown": "which torch {name} requires isn't known here: the installer finds out, and stops if it is another one",
    "two-vendors": "{chosen} and {other} are both here; {chosen} is planned for, because {because}",
    "display-left": "{card} is none of the GPUs that XPU builds are for; it is left out",
    "integrated-left": "{card} is integrated graphics and not a compute target; it is left out",
    "vendor-unsupported": "{card} is here, and PyTorch publishes no wheels for {vendor}; take {advice}",
    "vendor-unknown": "{card} is here, and PyTorch publishes no wheels for accelerators of {vendor}",
    # blocked
    "blocked-dropped": (
        "driver {found} no longer supports {card}: branch {last} is the last that does; "
        "install the newest {last} driver"
    ),
    "blocked-new": "driver {found} doesn't know {card}: it needs a driver >= {minimum}",
    "blocked-module": "{card} isn't driven by the {module} kernel module: it needs the {other} one of the same driver version",
    "apple-elsewhere": "Apple silicon runs macOS, not {os}: PyTorch's MPS is there only",
    "downgrade": "torch {installed} is installed: this would put the older {torch} in its place",
    "index-hint": "{option} of the requirements file is a hint: where torch comes from is decided here; the rest of the packages obey it",
    "driver-missing": "{card} is here, but no NVIDIA driver is installed",
    "driver-nouveau": "{card} is bound to {driver}: CUDA needs NVIDIA's own driver",
    "driver-not-loaded": "{card} is here, but the NVIDIA kernel module isn't loaded",
    "driver-library-mismatch": "the NVIDIA libraries and the loaded kernel module are of different versions: a reboot usually mends it",
    "driver-no-device": "the NVIDIA driver is loaded, but gives access to no device",
    "amd-missing": "{card} is here, but no driver of AMD's for compute is installed",
    "amd-not-loaded": "{card} is here, but the amdgpu kernel module isn't loaded",
    "amd-no-device": "{card} is here, but there is no /dev/kfd: ROCm can't reach it (amdgpu without compute, or a container without the device)",
    "intel-missing": "{card} is here, but neither the i915 nor the xe kernel module drives it",
    "intel-not-loaded": "{card} is here, but its kernel module isn't loaded",
    "intel-no-device": "{card} is here, but there is no /dev/dri/renderD* for it",
    "ascend-missing": "{card} is here, but no Ascend driver is installed",
    "ascend-not-loaded": "{card} is here, but the Ascend driver isn't loaded",
    "ascend-no-device": "{card} is here, but there is no /dev/davinci* for it (driver not running, or a container without the device)",
    "no-tuple": "no published torch fits {target} together with the request",
    "no-tuple-all": "no published torch fits all cards here together: {cards}",
    "conflict": "these can't be had together here: {wishes}",
    "companion-none": "there is no {name} for any torch that fits here",
    "require-gpu": "--require-gpu was given, and {because}",
    "vendor-build": (
        "the installed torch {version} is a vendor's build ({by}); it is replaced only with --yes-replace-vendor-build"
    ),
    "mixed-vendors": "cards of several vendors were declared: name one with --gpu",
    "contradiction": "{variant} wheels don't use {target}",
    "never-existed": "torch {torch} was never published as {variant} for {platform}; it exists as: {variants}",
    "unknown-variant": "{variant} isn't a variant that torchinstall knows; there are {variants}",
    "no-such-version": "no torch is known for {platform} that {requirement} (from {origin}) admits; next to it: {versions}",
    # undetermined
    "gpus-unknown": "nothing is known of the accelerators of this machine",
    "card-unlisted": "{card} is in no table here: whether XPU builds are for it isn't known",
    "card-unknown": "the compute capability of {card} can't be established",
    "gfx-unknown": "the gfx target of {card} can't be established",
    "image-build": "an image is being built ({evidence}): the machine that will run it can't be seen from here",
    "container-no-device": "this container can't reach an accelerator, but something speaks of one: {evidence}",
    "login-node": "this looks like a login node ({evidence}): the machine with the cards is another one",
    "platform-unknown": "the operating system or architecture isn't known",
    # explanations
    "explain-chosen": "{what}: torch {torch} ({variant}) is what is chosen here",
    "explain-possible": "{what} is possible here as torch {torch} ({variant}), but isn't what is chosen",
    "explain-no": "{what} isn't possible here",
    "explain-unknown": "whether {what} is possible here can't be known",
    # ways out
    "if-upgrade": "--upgrade is given",
    "if-driver": "the NVIDIA driver is updated to {minimum} or newer",
    "if-driver-works": "the NVIDIA driver that is here ({found}) answers again: torchinstall doctor looks for what is in its way",
    "if-driver-answers": "the NVIDIA driver answers and is {minimum} or newer",
    "if-driver-installed": "an NVIDIA driver {minimum} or newer is installed and loaded",
    "if-module": "the {other} flavour of the NVIDIA kernel module is installed",
    "if-driver-branch": "the NVIDIA driver is replaced by one of branch {branch} (>= {minimum})",
    "if-rocm": "{card} is used in spite of that (--variant {variant})",
    "if-rocm-without": "{card} is used in spite of that (--variant {variant}), without {names}",
    "if-cann-any": "CANN {wanted} is installed",
    "if-cann": "CANN {minimum} or newer is installed",
    "if-cann-exact": "CANN {minimum} is installed",
    "if-arm-python": "an arm64 Python is used instead of an x86_64 one under Rosetta",
    "if-python": "Python {python} is used",
    "if-hidden": "{cards} hidden ({variable})",
    "if-version": "the version isn't fixed ({requirement})",
    "if-constraint": "{requirement} (from {origin}) doesn't bind",
    "if-variant": "the variant isn't fixed ({variant})",
    "if-companion": "{name} is left away",
    "if-cpu": "a CPU build is enough (--cpu)",
    "if-gpu": 'another machine is meant, with a card that it serves, named as in --gpu "{card}"',
    "if-cuda": "{variant} is named (--variant {variant})",
    "if-reachable": "that is taken from {where} (--allow-older)",
    "if-macos": "macOS is updated to {minimum} or newer",
    "if-l4t": "the board runs L4T {minimum} or newer (JetPack {jetpack})",
    "if-glibc": "the system has glibc >= {minimum}",
    "if-alone": "{card} is used alone ({variable})",
}


LANGUAGES = ("en", "zh")


def text(rule: str, params: Mapping[str, str], lang: str = "en") -> str:
    """Return the sentence of a rule in a language; in English where there is no translation of it.

    What stands in ``params`` as a word or sentence of ours is translated with it; numbers, names and
    commands stay as they are.
    """
    if lang == "zh":
        from torchinstall.model.sentences_zh import CHINESE, WORDS

        if rule in CHINESE:
            fixed = {sentence: CHINESE[name] for name, sentence in ENGLISH.items() if name in CHINESE}
            words = {name: WORDS.get(value) or fixed.get(value) or _span(value) for name, value in params.items()}
            return CHINESE[rule].format(**words)
    return ENGLISH[rule].format(**params)


def _span(value: str) -> str:
    """Return a span of versions ("8.5 to 9.2") as it is written in Chinese; anything else as it is."""
    low, middle, high = value.partition(" to ")
    return f"{low}\u81f3{high}" if middle and low[:1].isdigit() and high[:1].isdigit() else value


def reason(rule: str, *, source: str = "", **params: object) -> Reason:
    """Return the sentence of ``rule`` filled with ``params``; raises ``KeyError`` for an unknown rule."""
    texts = {name: str(value) for name, value in params.items()}
    return Reason.unchecked({"rule": rule, "text": ENGLISH[rule].format(**texts), "source": source, "params": texts})
