"""Headings and fixed phrases in Chinese. ``{holes}`` are filled with what stands there in English.

The first phrase that fits a line counts; longer ones come first. What isn't here is shown in English.
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
    "GPU {number}: {name} (compute capability {cc}, {more})": "GPU {number}：{name}（计算能力 {cc}，{more}）",
    "GPU {number}: {name} (compute capability {cc})": "GPU {number}：{name}（计算能力 {cc}）",
    "{system}, declared": "{system}，按声明",
    "GPU {number}: {card}": "GPU {number}：{card}",
    "container: {kind}, image build{more}": "容器：{kind}，正在构建镜像{more}",
    "container: {kind}, a device is reachable": "容器：{kind}，可以访问设备",
    "container: {kind}, no device is reachable": "容器：{kind}，无法访问设备",
    "container: {kind}": "容器：{kind}",
    "seen: {evidence}": "迹象：{evidence}",
    "cluster: {name}": "集群：{name}",
    "NVIDIA driver {facts}": "NVIDIA 驱动 {facts}",
    "torch {torch} is in {where}": "torch {torch} 已装入 {where}",
    "{what}, up to {high}, made for {made}": "{what}，最高 {high}，针对 {made}",
    "{what}, for CANN {cann}": "{what}（CANN {cann}）",
}
