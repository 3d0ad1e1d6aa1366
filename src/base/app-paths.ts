// An ESM import of a built-in reads all its exports, which the hot commands would pay for at every start.
const { readFileSync } = process.getBuiltinModule('node:fs')
const { homedir } = process.getBuiltinModule('node:os')
const { isAbsolute, join, resolve } = process.getBuiltinModule('node:path')

/** Where everything of one installation lies. Another data directory is another daemon, with its own run and logs. */
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
}

export interface AppPathOptions {
  env: Record<string, string | undefined>
  /** `--config` */
  configFile?: string | undefined
  /** `--data-dir`, or `data.directory` of the config file */
  dataDir?: string | undefined
}

/** Pure and cheap: the hot commands call it before anything else. */
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
 * Whether a config file can possibly move the data directory, without reading it as TOML: the hot commands must not pay
 * for a parser. `look` means "ask resolvePlaces"; a false `look` only costs time, a false `default` would talk to
 * another daemon, so a backslash (the key may be written with escapes) and an unreadable file are `look` too. So is
 * what resolvePlaces refuses: a file that was named and is not there, a home that depends on where one stands.
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

/** The kernel takes 107 bytes for a socket's path; a longer home gets a short name under /tmp, in a folder only its owner may enter. */
function socketIn(run: string): string {
  const inside = join(run, 'pcc.sock')
  if (Buffer.byteLength(inside) <= 100) return inside
  // Loaded here only: hot commands would pay 5 ms for it at every start.
  const { createHash } = process.getBuiltinModule('node:crypto')
  const name = createHash('sha256').update(run).digest('hex').slice(0, 16)
  return join(`/tmp/pcc-${process.getuid?.() ?? 0}`, `${name}.sock`)
}
