"""For every rule of the code scan an example that it finds, and one that only looks like it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from torchinstall.advise.requirement import kind_of
from torchinstall.advise.scan_file import scan_file
from torchinstall.advise.table import Table
from torchinstall.catalog.catalog import Catalog

PY = "example.py"
REQ = "requirements.txt"

EXAMPLES: dict[str, tuple[str, str, str]] = {
    "TS001": (PY, "import torch\nm = torch.jit.script(f)", "import torch\ntorch.jit.is_scripting()"),
    "TS002": (PY, "import torch\nm._save_for_lite_interpreter(p)", "import torch\nm._save_to_state_dict(p)"),
    "TS003": (PY, "import torch\n@torch.jit.script\ndef f(x): return x", "import torch\ntorch.jit.load(f)"),
    "AMP001": (PY, "from torch.cuda.amp import autocast", "from torch.amp import autocast"),
    "AMP002": (PY, "import torch\ns = torch.cuda.amp.GradScaler()", "import torch\ns = torch.amp.GradScaler('cuda')"),
    "AMP003": (
        PY,
        "import torch\nwith torch.cpu.amp.autocast(): pass",
        "import torch\nwith torch.autocast('cpu'): pass",
    ),
    "AMP004": (PY, "from torch.cuda.amp import custom_fwd", "from torch.amp import custom_fwd"),
    "LOAD001": (
        PY,
        "import torch\ntorch.load(f)",
        "import torch\ntorch.load(f, weights_only=False)\ntorch.load(f, **options)",
    ),
    "LOAD002": (PY, "import torch\ntorch.load(f, weights_only=True)", "import torch\ntorch.save(f, weights_only=True)"),
    "LOAD003": (PY, "import torch\ntorch.export.load(f)", "import torch\ntorch.export.save(p, f)"),
    "LR001": (
        PY,
        "import torch\nscheduler.print_lr()",
        "import torch\nclass S:\n    def print_lr(self): self.print_lr()\ns.print_lr()",
    ),
    "LR002": (
        PY,
        "from torch.optim.lr_scheduler import StepLR\nStepLR(o, 3, verbose=True)",
        "from torch.optim.lr_scheduler import StepLR\nStepLR(o, 3)\nfit(verbose=True)",
    ),
    "ONNX001": (
        PY,
        "import torch\ntorch.onnx.dynamo_export(m, x)",
        "import torch\ntorch.onnx.export(m, x, dynamo=True)",
    ),
    "ONNX002": (PY, "from torch.onnx import OnnxRegistry", "from onnxscript import OnnxRegistry\nimport torch"),
    "ONNX003": (
        PY,
        "import torch\ntorch.onnx.export(m, x, 'f')",
        "import torch\ntorch.onnx.export(m, x, 'f', dynamo=False)",
    ),
    "ONNX004": (
        PY,
        "import torch\ntorch.onnx.export_to_pretty_string(m, x)",
        "import torch\ntorch.onnx.is_in_onnx_export()",
    ),
    "ONNX005": (PY, "from torch.onnx import symbolic_caffe2", "from torch.onnx import symbolic_helper"),
    "EXP001": (PY, "import torch\ntorch.export.export_for_inference(m, a)", "import torch\ntorch.export.Dim('b')"),
    "EXP002": (PY, "from torch.export import export_for_training", "from torch.export import Dim"),
    "EXP003": (PY, "import torch\ntorch.export.export(m, a)", "import torch\ntorch.export.export(m, a, strict=True)"),
    "EXP004": (
        PY,
        "from torch._export import capture_pre_autograd_graph",
        "from mine._export import capture_pre_autograd_graph\nimport torch",
    ),
    "Q001": (
        PY,
        "from torch.ao.quantization.quantize_pt2e import prepare_pt2e",
        "from torchao.quantization.pt2e import prepare_pt2e\nimport torch",
    ),
    "Q002": (
        PY,
        "from torch.ao.quantization import compare_results",
        "from torch.ao.quantization import get_default_qconfig",
    ),
    "Q003": (
        PY,
        "import torch\ntorch.quantization.quantize_dynamic(m)",
        "import torch\ntorch.ao.quantization.QConfig(a, b)",
    ),
    "NT001": (PY, "import torch\ntorch.align_tensors(a, b)", "import torch\ntorch.broadcast_tensors(a, b)"),
    "NT002": (
        PY,
        "import torch\nx = x.refine_names('N', 'C')",
        "import torch, pandas\npandas.align_to(x)\nself.align_to(x)",
    ),
    "NT003": (
        PY,
        "import torch\ntorch.zeros(2, 3, names=('N', 'C'))",
        "import torch, numpy\nnumpy.zeros(2, names=1)\ntorch.zeros(2)",
    ),
    "D001": (
        PY,
        "import torch.distributed as dist\ndist.all_gather_into_tensor(a, b)",
        "import torch.distributed as dist\ndist.all_gather(a, b)",
    ),
    "D002": (PY, "from torch.distributed import gather_into_tensor", "from torch.distributed import gather"),
    "D003": (
        PY,
        "import torch.distributed as dist\ndist._all_gather_base(a, b)",
        "import torch.distributed as dist\ndist.all_gather(a, b)",
    ),
    "D004": (
        PY,
        "from torch.distributed.distributed_c10d import _set_pg_timeout",
        "from torch.distributed import set_timeout",
    ),
    "D005": (
        PY,
        "from torch.distributed import ProcessGroup\nProcessGroup(store, 0, 2, options)",
        "from torch.distributed import ProcessGroup\nProcessGroup(store, 0, 2)\nProcessGroup(*arguments)",
    ),
    "D006": (
        PY,
        "import torch.distributed as dist\ndist.init_process_group(backend='nccl')",
        """import torch.distributed as dist
dist.init_process_group('gloo')
dist.init_process_group('nccl', device_id=d)
dist.init_process_group('nccl-legacy')""",
    ),
    "D007": (PY, "from torch.distributed import ProcessGroupNCCL", "from torch.distributed import ProcessGroupGloo"),
    "D008": (
        PY,
        "from torch.distributed.pipelining import ScheduleFlexibleInterleaved1F1B",
        "from torch.distributed.pipelining import ScheduleInterleaved1F1B",
    ),
    "D009": (
        PY,
        "from torch._C._distributed_c10d import _ControlCollectives",
        "from torch._C._distributed_c10d import Store",
    ),
    "D010": ("train.sh", "python -m torch.distributed.launch train.py", "python -m torch.distributed.run train.py"),
    "D011": (
        PY,
        "from torch.distributed.checkpoint import save_state_dict",
        "from torch.distributed.checkpoint import save",
    ),
    "D012": (
        PY,
        "import torch\ntorch.distributed.config.pipeline_per_direction_p2p = True",
        "import torch\ntorch.distributed.config.pipeline_per_edge_p2p = True",
    ),
    "D013": (
        PY,
        "import torch\npg._set_sequence_number_for_group()",
        "import torch\npg._get_sequence_number_for_group()",
    ),
    "PRF001": (
        PY,
        "from torch.autograd import profiler\nprofiler.profile(use_cuda=True)",
        "from torch.autograd import profiler\nprofiler.profile(use_device='cuda')\nrun(use_cuda=True)",
    ),
    "PRF002": (
        PY,
        "from torch.profiler import profile\nprofile(with_modules=True)",
        "from torch.profiler import profile\nprofile(with_stack=True)",
    ),
    "PRF003": (PY, "import torch\np.key_averages().table()", "import torch\np.total_average()"),
    "PRF004": (
        PY,
        "from torch.autograd.profiler import load_nvprof",
        "from torch.autograd.profiler import record_function",
    ),
    "PRF005": (
        PY,
        "import torch\nevent.cuda_time_total",
        "import torch\nself.cuda_time_total = 1\nevent.device_time_total",
    ),
    "PRF006": (PY, "import torch.utils.bottleneck", "import torch.utils.benchmark"),
    "CUDA001": (PY, "from torch.cuda.memory import MemPoolContext", "from torch.cuda.memory import MemPool"),
    "CUDA002": (
        PY,
        "import torch\nwith torch.backends.cuda.sdp_kernel(): pass",
        "import torch\ntorch.backends.cuda.flash_sdp_enabled()",
    ),
    "CUDA003": (PY, "import torch\ntorch.cuda.memory_cached()", "import torch\ntorch.cuda.memory_reserved()"),
    "CUDA004": (
        PY,
        "import torch\ntorch.cuda.memory._set_allocator_settings('a')",
        "import torch\ntorch.cuda.memory.empty_cache()",
    ),
    "CUDA005": (
        PY,
        "import torch\ntorch.backends.cudnn.allow_tf32 = True",
        "import torch\ntorch.backends.cudnn.benchmark = True",
    ),
    "CUDA006": (
        PY,
        "import torch\ntorch.cuda.green_contexts.GreenContext.set_context(c)",
        "import torch\ntorch.cuda.green_contexts.GreenContext.create(8)",
    ),
    "CUDA007": (PY, "from torch.cuda import error", "from torch.cuda import errors_of_mine"),
    "CUDA008": (
        PY,
        "import torch\ntorch.cuda.profiler.init(f)",
        "import torch\ntorch.cuda.profiler.start()\ntorch.cuda.init()",
    ),
    "DL001": (
        PY,
        "from torch.utils.dlpack import DLDeviceType\nDLDeviceType.kDLGPU",
        "from torch.utils.dlpack import DLDeviceType\nDLDeviceType.kDLCUDA",
    ),
    "DT001": (
        PY,
        "from torch.distributed.tensor.placement_types import MaskPartial",
        "from torch.distributed.tensor.placement_types import Partial",
    ),
    "FX001": (
        PY,
        "from torch.fx.experimental.symbolic_shapes import definitely_true",
        "from torch.fx.experimental.symbolic_shapes import guard_or_true",
    ),
    "FX002": (PY, "import torch\ntorch._check_is_size(n)", "import torch\ntorch._check(n >= 0)"),
    "DYN001": (
        PY,
        "import torch._inductor.config as c\nc.use_mixed_mm = True",
        "import torch._inductor.config as c\nc.max_autotune = True",
    ),
    "DYN002": (
        PY,
        "import torch\ntorch._inductor.config.custom_op_default_layout_constraint = 'x'",
        "import torch\ntorch._functorch.config.custom_op_default_layout_constraint = 'x'",
    ),
    "DYN003": (
        PY,
        "from torch._inductor import config\nconfig.aot_inductor.embed_cubin = True",
        "from mine import config\nimport torch\nconfig.aot_inductor.embed_cubin = True",
    ),
    "DYN004": (PY, "from torch._utils import is_compiling", "from torch.compiler import is_compiling"),
    "DYN005": (PY, "import torch._dynamo.backends.tvm", "import torch._dynamo.backends.registry"),
    "DYN006": (
        PY,
        "import torch\ntorch.distributed.config.compile_on_one_rank = True",
        "import torch\ntorch.compiler.config.compile_on_one_rank = True",
    ),
    "FA001": (
        PY,
        "from torch.nn.attention.flex_attention import flex_attention\nflex_attention(q, k, v, return_lse=True)",
        "from torch.nn.attention.flex_attention import flex_attention\nflex_attention(q, k, v)\nmine(return_lse=True)",
    ),
    "FA002": (
        PY,
        "from torch.nn.attention.flex_attention import create_nested_block_mask",
        "from torch.nn.attention.flex_attention import create_block_mask",
    ),
    "NN001": (PY, "from torch.nn.utils import weight_norm", "from torch.nn.utils.parametrizations import weight_norm"),
    "NN002": (PY, "from torch.nn.utils.stateless import functional_call", "from torch.func import functional_call"),
    "NN003": (
        PY,
        "import torch.nn as nn\nnn.utils.clip_grad_norm(p, 1)",
        "import torch.nn as nn\nnn.utils.clip_grad_norm_(p, 1)",
    ),
    "MK001": (
        PY,
        "from torch.utils import mkldnn\nmkldnn.MkldnnLinear(m)",
        "from torch.utils import mkldnn\nmkldnn.to_mkldnn(m)",
    ),
    "LA001": (
        PY,
        "import torch\ntorch.symeig(a)",
        "import torch, scipy\ntorch.linalg.eigh(a)\nscipy.linalg.eig(a)\nx.eig()",
    ),
    "LA002": (PY, "import torch\ntorch.norm(a)", "import torch\ntorch.linalg.norm(a)\na.norm()"),
    "LA003": (
        PY,
        "import torch as t\nt.qr(a)",
        "import torch\nimport numpy as np\nnp.linalg.qr(a)\ntorch.linalg.qr(a)\ntorch.linalg.cholesky(a)",
    ),
    "LA004": (
        PY,
        "import torch\na = torch.rand(3, 3)\na.qr()",
        "import torch\na = solver()\na.qr()\nb = torch.rand(3)\nb.norm()",
    ),
    "LIB001": (PY, "from torch.library import impl_abstract", "from torch.library import register_fake"),
    "TEST001": (
        PY,
        "import torch\ntorch.testing.assert_allclose(a, b)",
        "import torch, numpy\nnumpy.testing.assert_allclose(a, b)",
    ),
    "FT001": (PY, "from functorch import vmap", "from torch.func import vmap"),
    "BLD001": (REQ, "flash-attn==2.5.6", "flash-attn\nflash-attention-lookalike==2.5.6"),
    "BLD002": (
        PY,
        "from torch.utils.cpp_extension import _get_pybind11_abi_build_flags",
        "from torch.utils.cpp_extension import load",
    ),
    "BLD004": (
        "setup.py",
        "from torch.utils.cpp_extension import CUDAExtension\nCUDAExtension('x', [], cxx=['-std=c++17'])",
        "from torch.utils.cpp_extension import CUDAExtension\nCUDAExtension('x', [], cxx=['-std=c++20'])",
    ),
    "BLD005": (REQ, "xformers==0.0.29.post3", "xformers>=0.0.29\nxformers"),
    "BLD006": (
        "pyproject.toml",
        '[project]\ndependencies = [\n  "mmcv<2.2",\n]',
        '[project]\nname = "mmcv"\ndependencies = ["mmcv>=2"]',
    ),
    "TA001": (
        PY,
        "import torchaudio\ntorchaudio.set_audio_backend('sox')",
        "import torchaudio\ntorchaudio.functional.resample(x, 1, 2)",
    ),
    "TA002": (
        PY,
        "import torchaudio\ntorchaudio.load('a.wav')",
        "import torchaudio, soundfile\nsoundfile.load('a.wav')\ntorchaudio.datasets.load",
    ),
    "TA003": (REQ, "torchaudio==2.12.0", "torchaudio==2.11.0\ntorchaudio<2.12"),
    "TV001": (PY, "from torchvision.io import read_video", "from torchvision.io import ImageReadMode"),
    "TV002": (
        PY,
        "from torchvision.prototype import datapoints",
        "from mylib.torchvision.prototype import datapoints\nimport torch",
    ),
    "TV003": (PY, "from torchvision.io import read_image", "from torchvision.io import read_file"),
    "TV004": (
        PY,
        "from torchvision import models\nmodels.resnet50(pretrained=True)",
        "from torchvision import models\nmodels.resnet50(weights=w)\ntimm.create_model(pretrained=True)",
    ),
    "TV005": (
        PY,
        "from torchvision.transforms.functional_tensor import rgb_to_grayscale",
        "from torchvision.transforms.functional import rgb_to_grayscale",
    ),
    "PIN001": (REQ, "torchvision==0.21.0", "torchvision>=0.21\ntorch>=2.6,<3\ntorchmetrics==0.1"),
    "TT001": (
        PY,
        "from torchtext.data import Field",
        "from mytorchtext.data import Field\nfrom . import torchtext\nimport torch",
    ),
    "TD001": (PY, "from torchdata.datapipes.iter import FileLister", "from torchdata.nodes import Loader"),
    "TD002": (REQ, "torchdata==0.7.1", "torchdata>=0.7\ntorchdata==0.11.0"),
    "CONDA001": (
        "environment.yml",
        "channels:\n  - pytorch\n  - conda-forge",
        "channels:\n  - conda-forge\ndependencies:\n  - pytorch",
    ),
    "IDX001": (
        "Dockerfile",
        "RUN pip install torch --index-url https://download.pytorch.org/whl/cu126",
        "RUN pip install torch --index-url https://download.pytorch.org/whl/cu132",
    ),
    "NV001": (REQ, "nvidia-cublas-cu12==12.6.4.1", "nvidia-cudnn-cu13==9.1\nnvidia-cublas==13.0"),
    "NV002": (REQ, "nvidia-cublas-cu13", "nvidia-cublas"),
    "NPU001": (PY, "import torch_npu", "import torch_npu_tools\nimport torch"),
    "CE001": (
        PY,
        "import torch._dynamo\ntorch._dynamo.test_minimal()",
        "import torch._dynamo\ntorch._dynamo.explain(f)",
    ),
}
OTHER_TARGET = {"D001": "2.14.1", "D002": "2.14.1"}


@pytest.fixture
def rules_in(table: Callable[..., Table]) -> Callable[..., set[str]]:
    def rules_in(name: str, text: str, *, to: str = "2.15.0") -> set[str]:
        kind = kind_of(name)
        assert kind is not None
        result = scan_file(name, text.encode(), kind, table(to, python="3.14"))
        assert result.skipped == ()
        return {finding.rule for finding in result.findings}

    return rules_in


def test_every_rule_has_examples(catalog: Catalog) -> None:
    assert {rule.id for rule in catalog.advice.migrations} == set(EXAMPLES)


@pytest.mark.parametrize("rule", EXAMPLES)
def test_the_example_is_found(rule: str, rules_in: Callable[..., set[str]]) -> None:
    name, positive, _ = EXAMPLES[rule]
    assert rule in rules_in(name, positive, to=OTHER_TARGET.get(rule, "2.15.0"))


@pytest.mark.parametrize("rule", EXAMPLES)
def test_the_look_alike_is_not(rule: str, rules_in: Callable[..., set[str]]) -> None:
    name, _, negative = EXAMPLES[rule]
    assert rule not in rules_in(name, negative, to=OTHER_TARGET.get(rule, "2.15.0"))


def test_every_rule_says_what_to_do_or_that_there_is_nothing(catalog: Catalog) -> None:
    for rule in catalog.advice.migrations:
        assert rule.link.startswith("https://"), rule.id
        assert rule.source, rule.id
        # What is gone for good has no successor; of the rest each names one.
        worst = {change.severity for change in rule.changes}
        assert rule.replacement or worst & {"error", "behavior"}, rule.id


def test_a_warning_that_went_away_is_not_told(rules_in: Callable[..., set[str]]) -> None:
    code = "import torch.distributed as dist\ndist.all_gather_into_tensor(a, b)"
    assert "D001" in rules_in(PY, code, to="2.13.0")
    assert "D001" not in rules_in(PY, code, to="2.15.0")
