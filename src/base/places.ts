// An ESM import of a built-in reads all its exports, which the hot commands would pay for at every start.
const { homedir } = process.getBuiltinModule('node:os')
const { join, resolve } = process.getBuiltinModule('node:path')

/** Where everything of one installation lies. Another data directory is another daemon, with its own run and logs. */
export interface Places {
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

export interface PlaceOptions {
  env: Record<string, string | undefined>
  /** `--config` */
  configFile?: string | undefined
  /** `--data-dir`, or `data.directory` of the config file */
  dataDir?: string | undefined
}

/** Pure and cheap: the hot commands call it before anything else. */
export function placesFor({ env, configFile, dataDir }: PlaceOptions): Places {
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

/** The kernel takes 107 bytes for a socket's path; a longer home gets a short name under /tmp, in a folder only its owner may enter. */
function socketIn(run: string): string {
  const inside = join(run, 'pcc.sock')
  if (Buffer.byteLength(inside) <= 100) return inside
  // Loaded here only: hot commands would pay 5 ms for it at every start.
  const { createHash } = process.getBuiltinModule('node:crypto')
  const name = createHash('sha256').update(run).digest('hex').slice(0, 16)
  return join(`/tmp/pcc-${process.getuid?.() ?? 0}`, `${name}.sock`)
}
