# One line for a Windows machine that has nothing but PowerShell:
#
#   .\install.ps1 --venv .venv torch torchvision
#   & ([scriptblock]::Create((irm URL-OF-THIS-FILE))) --venv .venv torch torchvision
#
# It runs torchinstall out of an environment of its own, and passes all arguments on: torch goes into your
# environment, never into the tool's. What runs it is the first of these that is here: uv, pipx, a Python with
# pip; where none is, uv is fetched (into a private folder, PATH stays as it is).
#
#   TORCHINSTALL_FROM           what is run: a requirement, a wheel, a checkout (default: torchinstall)
#   TORCHINSTALL_HOME           where the private environment lives
#   TORCHINSTALL_UV_INSTALLER   address of uv's installer, where the usual one can't be reached

$ErrorActionPreference = 'Stop'

function Get-Setting([string] $Name, [string] $Otherwise) {
    $value = [Environment]::GetEnvironmentVariable($Name)
    if ($value) { $value } else { $Otherwise }
}

function Find-Python {
    # The Store's python.exe is a stub that opens a shop window: it must answer, not only exist.
    foreach ($candidate in @((Get-Setting 'TORCHINSTALL_BOOTSTRAP_PYTHON' 'py'), 'py', 'python', 'python3')) {
        $found = Get-Command $candidate -CommandType Application -ErrorAction SilentlyContinue | Select-Object -First 1
        if (-not $found) { continue }
        & $found.Source -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>$null
        if ($LASTEXITCODE -eq 0) { return $found.Source }
    }
    return $null
}

function Install-Private([string] $Python, [string] $From, [string] $Place) {
    $identity = & $Python -c 'import sys; print(sys.version, sys.base_prefix)'
    $bytes = [Text.Encoding]::UTF8.GetBytes("$From`n$identity")
    $digest = [Security.Cryptography.SHA256]::Create().ComputeHash($bytes)
    $key = -join ($digest[0..7] | ForEach-Object { $_.ToString('x2') })
    $environment = Join-Path $Place "one-line-$key"
    $inside = Join-Path $environment 'Scripts\python.exe'
    if (-not (Test-Path (Join-Path $environment '.ready'))) {
        Write-Host "torchinstall: preparing its own environment in $environment (once)"
        if (Test-Path $environment) { Remove-Item -Recurse -Force $environment }
        & $Python -m venv $environment | Out-Null
        if ($LASTEXITCODE -ne 0) { return $null }
        & $inside -m pip install --quiet --disable-pip-version-check $From | Out-Null
        if ($LASTEXITCODE -ne 0) { Remove-Item -Recurse -Force $environment; return $null }
        New-Item -ItemType File (Join-Path $environment 'torchinstall-private') | Out-Null
        New-Item -ItemType File (Join-Path $environment '.ready') | Out-Null
    }
    return $inside
}

function Get-PrivateUv([string] $Place) {
    $folder = Join-Path $Place 'uv'
    $uv = Join-Path $folder 'uv.exe'
    if (-not (Test-Path $uv)) {
        $installer = Get-Setting 'TORCHINSTALL_UV_INSTALLER' 'https://astral.sh/uv/install.ps1'
        Write-Host "torchinstall: fetching uv into $folder (once), by $installer"
        # Unmanaged: no PATH is edited and nothing updates itself.
        $env:UV_UNMANAGED_INSTALL = $folder
        Invoke-RestMethod $installer | Invoke-Expression | Out-Null
        Remove-Item Env:UV_UNMANAGED_INSTALL
    }
    return $uv
}

$place = Get-Setting 'TORCHINSTALL_HOME' (Join-Path $env:LOCALAPPDATA 'torchinstall')
$from = Get-Setting 'TORCHINSTALL_FROM' 'torchinstall'
# The variable is this script's; the tool would take it for an option.
Remove-Item Env:TORCHINSTALL_FROM -ErrorAction SilentlyContinue

if (Get-Command uv -CommandType Application -ErrorAction SilentlyContinue) {
    & uv tool run --from $from torchinstall @args
    exit $LASTEXITCODE
}
if (Get-Command pipx -CommandType Application -ErrorAction SilentlyContinue) {
    & pipx run --spec $from torchinstall @args
    exit $LASTEXITCODE
}
$python = Find-Python
if ($python) {
    $inside = Install-Private $python $from $place
    if ($inside) {
        & $inside -I -m torchinstall @args
        exit $LASTEXITCODE
    }
    Write-Host "torchinstall: $python can't make the environment; trying with uv"
}
& (Get-PrivateUv $place) tool run --from $from torchinstall @args
exit $LASTEXITCODE
