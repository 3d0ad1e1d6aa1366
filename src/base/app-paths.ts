import type { AcceptedContents } from './accepted-file.ts'

// An ESM import of a built-in module reads all its exports, which would slow down every start of the frequent commands.
const { readFileSync } = process.getBuiltinModule('node:fs')
const { homedir } = process.getBuiltinModule('node:os')
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
export function ownFolders({ home, data, run, logs }: AppPaths): string[] {
  return [home, data, run, logs]
}

/** The program that agents which pcc did not start run for each of their hooks. Its path stays the same when pcc moves. */
export function hookLauncher({ home }: Pick<AppPaths, 'home'>): string {
  return join(home, 'hooks', 'run')
}

/** What `pcc hooks install` added to which settings. A sandbox shows the launcher, and never this file. */
export function hookRecord({ home }: Pick<AppPaths, 'home'>): string {
  return join(home, 'hooks', 'installed.json')
}

/** Pure and cheap: the frequent commands call this before anything else. */
export function appPathsFor({ env, configFile, dataDir }: AppPathOptions): AppPaths {
  const home = resolve(env['PCC_HOME'] || join(env['HOME'] || homedir(), '.perpetualcc'))
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
  }
}

/**
 * Whether a config file could move the data directory, without parsing it as TOML: the frequent commands must not pay for
 * a parser. `look` means "call resolvePaths". A wrong `look` only costs time, but a wrong `default` would talk to another
 * daemon. So a backslash (the key may be written with escapes) and an unreadable file also give `look`, and so does
 * whatever resolvePaths refuses: a named file that does not exist, and a relative PCC_HOME.
 */
export function dataDirectoryHint({ home, configFile }: AppPaths, env: AppPathOptions['env']): 'default' | 'look' {
  if (env['PCC_HOME'] && !isAbsolute(env['PCC_HOME'])) return 'look'
  try {
    const text = readFileSync(configFile, 'utf8')
    return text.includes('directory') || text.includes('\\') ? 'look' : 'default'
  } catch (thrown) {
    const isAbsent = (thrown as NodeJS.ErrnoException).code === 'ENOENT'
    return isAbsent && configFile === join(home, 'config.toml') ? 'default' : 'look'
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
