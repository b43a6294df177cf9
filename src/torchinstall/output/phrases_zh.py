"""Headings and fixed phrases in Chinese. ``{holes}`` are filled with what stands there in English.

The first phrase that fits a line counts; longer ones come first. What isn't here is shown in English.
Holes of the name ``facts`` are lists, of which each part is looked up by itself.
"""

from __future__ import annotations

HEADINGS: dict[str, str] = {
    "Machine": "机器",
    "Installed": "已安装",
    "Choice": "选择",
    "Why": "原因",
    "Needs": "需要",
    "Set": "设置",
    "Instead": "改用",
    "Problem": "问题",
    "Blocked": "受阻",
    "Unknown": "未知",
    "Do": "处理",
    "Warning": "警告",
    "Not": "未选",
    "Possible": "可行",
    "Note": "注意",
    "Sources": "来源",
    "Error": "错误",
    "Output": "输出",
    "Verified": "已验证",
    "Failed": "失败",
    "Unproven": "未证实",
    "Not proved": "未证实",
    "Would do": "将执行",
    "Changed": "已更改",
    "Restored": "已恢复",
    "Done": "完成",
    "Before": "事先",
    "Yes": "可行",
    "No": "不可行",
    "Mind": "留意",
    "Chosen": "所选",
    "Data": "数据",
}

PHRASES: dict[str, str] = {
    "This is a CPU build: no accelerator will be used.": "这是 CPU 构建：不会使用任何加速器。",
    "the environment is as it was before": "环境已恢复原状",
    "nothing: all of it is installed": "无：全部已安装",
    "accelerators: not known": "加速器：未知",
    "no accelerator": "没有加速器",
    'name the target: --gpu "RTX 4090" (or cc:8.9, gfx1100, 910B3), and --driver VERSION where you know it': (
        '指明目标：--gpu "RTX 4090"（或 cc:8.9、gfx1100、910B3），知道驱动版本时再加 --driver VERSION'
    ),
    "or name the wheel: --variant cu130; or say that there is no GPU: --cpu": (
        "或指明轮子：--variant cu130；或说明没有 GPU：--cpu"
    ),
    "try again, or look at the network and the proxy (HTTPS_PROXY)": "请重试，或检查网络和代理（HTTPS_PROXY）",
    "in a Dockerfile: {command}, or ARG/ENV TORCHINSTALL_GPU": "在 Dockerfile 中：{command}，或 ARG/ENV TORCHINSTALL_GPU",
    "{package} from the default index": "{package}，来自默认索引",
    "{package} from {index}": "{package}，来自 {index}",
    "and {packages}": "以及 {packages}",
    "torch {torch} {variant}, if {change}": "torch {torch} {variant}，条件：{change}",
    "alone: {choice}   ({variable})": "单独使用：{choice}   （{variable}）",
    "alone: {choice}": "单独使用：{choice}",
    "GPU {number}: {name} ({facts})": "GPU {number}：{name}（{facts}）",
    "GPU {number}: {card}": "GPU {number}：{card}",
    "container: {kind}, {facts}": "容器：{kind}，{facts}",
    "container: {kind}": "容器：{kind}",
    "seen: {evidence}": "迹象：{evidence}",
    "cluster: {name}": "集群：{name}",
    "NVIDIA driver {version}, {facts}": "NVIDIA 驱动 {version}，{facts}",
    "NVIDIA driver {version}": "NVIDIA 驱动 {version}",
    "AMD: {facts}": "AMD：{facts}",
    "Intel: {facts}": "Intel：{facts}",
    "Ascend: {facts}": "昇腾：{facts}",
    "{board}: L4T unknown": "{board}：L4T 未知",
    "torch {torch} is in {where}": "torch {torch} 已装入 {where}",
    "{what}, up to {high}, made for {made}": "{what}，最高 {high}，针对 {made}",
    "{what}, for CANN {cann}": "{what}（CANN {cann}）",
}

FACTS: dict[str, str] = {
    # the system
    "unknown system": "未知系统",
    "unknown architecture": "未知架构",
    "Python {version} free-threaded ({kind})": "Python {version} 自由线程（{kind}）",
    "Python {version} free-threaded": "Python {version} 自由线程",
    "Python {version} ({kind})": "Python {version}（{kind}）",
    "system": "系统",
    "tool": "工具",
    "declared": "按声明",
    # the container
    "image build": "正在构建镜像",
    "a device is reachable": "可以访问设备",
    "no device is reachable": "无法访问设备",
    # a card
    "compute capability {cc}": "计算能力 {cc}",
    "integrated": "集成",
    "hidden": "已隐藏",
    "driver none": "没有驱动",
    # a driver, and what is the matter with it
    "driver unknown": "驱动未知",
    "driver {name}": "驱动 {name}",
    "ROCm not installed": "ROCm 未安装",
    "amdgpu in-tree": "amdgpu 为内核自带",
    "Level Zero unknown": "Level Zero 未知",
    "CANN unknown": "CANN 未知",
    "announces CUDA {version}": "声明支持 CUDA {version}",
    "libcuda answers CUDA {version}": "libcuda 回答 CUDA {version}",
    "open kernel module": "开源内核模块",
    "closed kernel module": "闭源内核模块",
    "unknown": "未知",
    "missing": "未安装",
    "not-loaded": "未加载",
    "library-mismatch": "库与内核模块版本不同",
    "no-device": "没有设备",
}
"""What stands between the commas of a machine's lines."""

COMMA = "，"
