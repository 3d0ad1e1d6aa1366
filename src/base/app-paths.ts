import type { AcceptedContents } from './accepted-file.ts'

// An ESM import of a built-in module reads all its exports, which would slow down every start of the frequent commands.
const { readFileSync } = process.getBuiltinModule('node:fs')
const { isAbsolute, join, resolve } = process.getBuiltinModule('node:path')

/** The paths of one installation. A different data directory means a different daemon, with its own run and log folders. */
export interface AppPaths {
  home: string
  configFile: string
  data: string
  database: string
  run: string
  logs: string
  socket: string
  tokenFile: string
  trustFile: string
  /** What was learned, of all projects: the log and what is derived from it (docs/memory.md). */
  memory: string
  /** Which content of the person's files is in force; without it, they count as they are on disk. */
  accepted?: AcceptedContents | undefined
}

export interface AppPathOptions {
  env: Record<string, string | undefined>
  /** `--config` */
  configFile?: string | undefined
  /** `--data-dir`, or `data.directory` of the config file */
  dataDir?: string | undefined
}

/** The folders that belong to an installation, its home first. */
export function ownFolders({ home, data, run, logs, memory }: AppPaths): string[] {
  return [home, data, run, logs, memory]
}

/** The program that agents which pcc did not start run for each of their hooks. Its path stays the same when pcc moves. */
export function hookLauncher({ home }: Pick<AppPaths, 'home'>): string {
  return join(home, 'hooks', 'run')
}

/** What `pcc hooks install` added to which settings. A sandbox shows the launcher, and never this file. */
export function hookRecord({ home }: Pick<AppPaths, 'home'>): string {
  return join(home, 'hooks', 'installed.json')
}

/**
 * A folder that nobody can make. It stands for the home of a person whose home is unknown, so that a caller which forgets that
 * `resolvePaths` refuses such an environment makes no home for somebody else.
 */
const NOWHERE = '/dev/null'

/** Pure and cheap: the frequent commands call this before anything else. */
export function appPathsFor({ env, configFile, dataDir }: AppPathOptions): AppPaths {
  const home = resolve(env['PCC_HOME'] || join(env['HOME'] || NOWHERE, '.perpetualcc'))
  const standard = join(home, 'data')
  const data = resolve(dataDir || env['PCC_DATA_DIRECTORY'] || standard)
  const base = data === standard ? home : data
  const run = join(base, 'run')
  return {
    home,
    configFile: resolve(configFile || env['PCC_CONFIG'] || join(home, 'config.toml')),
    data,
    database: join(data, 'perpetualcc.db'),
    run,
    logs: join(base, 'logs'),
    socket: socketIn(run),
    tokenFile: join(run, 'token'),
    trustFile: join(home, 'trust.json'),
    memory: memoryFolder(env, home),
  }
}

/**
 * `AI_MEMORY_PATH`, else inside a home that is not the standard one, else where the person's settings of all programs are
 * (docs/adr/0023).
 */
function memoryFolder(env: AppPathOptions['env'], home: string): string {
  if (env['AI_MEMORY_PATH']) return resolve(env['AI_MEMORY_PATH'])
  if (env['PCC_HOME'] && home !== join(env['HOME'] || NOWHERE, '.perpetualcc')) return join(home, 'memory')
  const config = env['XDG_CONFIG_HOME']
  // The standard says that a relative one does not count.
  const base = config && isAbsolute(config) ? config : join(env['HOME'] || NOWHERE, '.config')
  return join(base, 'perpetualcc', 'memory')
}

/** The variable that keeps pcc from knowing where its files are, and why; undefined if all is known. */
export function wrongHome(env: AppPathOptions['env']): { key: string; problem: string } | undefined {
  for (const key of ['PCC_HOME', 'AI_MEMORY_PATH']) {
    const path = env[key]
    if (path && !isAbsolute(path)) return { key, problem: `expected an absolute path, found "${path}"` }
  }
  const home = env['HOME']
  if (env['PCC_HOME'] || (home && isAbsolute(home))) return undefined
  const problem = home ? `expected an absolute path, found "${home}"` : 'it is not set, so there is no home to work in'
  return { key: 'HOME', problem: `${problem}; set it, or PCC_HOME` }
}

/**
 * Whether a config file could move the data directory, without parsing it as TOML: the frequent commands must not pay for
 * a parser. `look` means "call resolvePaths". A wrong `look` only costs time, but a wrong `default` would talk to another
 * daemon. So a backslash (the key may be written with escapes) and an unreadable file also give `look`, and so does what
 * resolvePaths may refuse: a file that was named, which may be absent or broken, and a home that is relative or unknown.
 */
export function dataDirectoryHint({ home, configFile }: AppPaths, env: AppPathOptions['env']): 'default' | 'look' {
  if (wrongHome(env) || configFile !== join(home, 'config.toml')) return 'look'
  try {
    const text = readFileSync(configFile, 'utf8')
    return text.includes('directory') || text.includes('\\') ? 'look' : 'default'
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'ENOENT' ? 'default' : 'look'
  }
}

/** The kernel limits a socket path to 107 bytes; a longer one becomes a short name under /tmp, in a folder only its owner may enter. */
function socketIn(run: string): string {
  const inside = join(run, 'pcc.sock')
  if (Buffer.byteLength(inside) <= 100) return inside
  // Loaded only here: it would add 5 ms to every start of the frequent commands.
  const { createHash } = process.getBuiltinModule('node:crypto')
  const name = createHash('sha256').update(run).digest('hex').slice(0, 16)
  return join(`/tmp/pcc-${process.getuid?.() ?? 0}`, `${name}.sock`)
}
