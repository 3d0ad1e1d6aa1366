/** Files that hold secrets or steer programs: inside a project too they are never touched unasked. */
const SENSITIVE_NAMES: RegExp[] = [
  /^\.env/,
  /\.(pem|key|p12|pfx|p8|ppk|jks|keystore|kdbx|gpg|asc|ovpn)$/,
  /^id_(rsa|dsa|ecdsa|ed25519)/,
  /^(\.netrc|_netrc|\.npmrc|\.yarnrc|\.yarnrc\.yml|\.pypirc|\.pgpass|\.git-credentials|\.htpasswd|\.dockercfg)$/,
  /^(credentials|secrets?)(\.|$)/,
  /^service[-_]?account.*\.json$/,
  /^\.mcp\.json$/,
  /^\.perpetualcc/,
  /^\.(bash|zsh|k|tc|c)?(rc|shrc|_profile|profile|login|logout|shenv|zshenv)$/,
  /^\.git(config|modules)$/,
  /^git~\d+$/,
]

/** Folders whose whole content is sensitive. */
const SENSITIVE_FOLDERS = new Set(['.git', '.ssh', '.gnupg', '.aws', '.azure', '.kube', '.docker', '.gcloud', '.husky'])

/** What steers the agent itself: settings and hooks are never touched unasked, the rest of `.claude` is only not written. */
const AGENT_FOLDERS = new Set(['.claude', '.codex', '.gemini'])
const AGENT_SETTINGS = /^(settings.*|hooks|hooks\.json|config\.toml|\.credentials.*)$/

/** Which part of the path, relative to the project, makes it sensitive; `undefined` when none does. */
export function sensitivePart(relativePath: string, does: 'read' | 'write'): string | undefined {
  const parts = relativePath.split('/').filter(part => part !== '')
  for (const [place, part] of parts.entries()) {
    const name = foldName(part)
    if (SENSITIVE_FOLDERS.has(name)) return part
    if (SENSITIVE_NAMES.some(shape => shape.test(name))) return part
    if (!AGENT_FOLDERS.has(name)) continue
    const next = parts[place + 1]
    if (does === 'write' || (next !== undefined && AGENT_SETTINGS.test(foldName(next)))) return part
  }
  return undefined
}

/** Whether a search pattern is written to find sensitive files ("**\/.env*"); wildcards count as absent letters. */
export function globLooksSensitive(glob: string): boolean {
  const pieces = glob.split(/[/{},]/).map(piece => piece.replace(/[*?![\]]/g, ''))
  return pieces.some(piece => piece !== '' && sensitivePart(piece, 'read') !== undefined)
}

/**
 * One spelling for all that a file system may take for the same name: letter case, compatibility forms, characters that some
 * systems ignore, trailing dots and spaces.
 */
function foldName(name: string): string {
  return name
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toLowerCase()
    .replace(/[. ]+$/, '')
}
