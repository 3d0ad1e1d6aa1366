import { chmodSync, lstatSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { refuseHook } from '../agents/hooks/refuse.ts'
import { hookTranslator } from '../agents/hooks/vendors.ts'
import { type AppPaths, hookLauncher, hookRecord } from '../base/app-paths.ts'
import { replaceFile } from '../base/files.ts'
import { runShortSync } from '../base/process/run-short.ts'
import { packagePath } from '../base/program.ts'
import { pathOutsideProjects } from '../base/search-path.ts'
import { quoteForShell } from '../base/words.ts'
import { settingVariables } from '../domain/config/layers.ts'
import { HOOK_VENDORS, type HookVendor } from '../domain/hooks.ts'

/** Where the launcher finds things. All of it is written into the script: the environment of an agent says nothing about it. */
export interface LauncherPaths {
  home: string
  node: string
  pcc: string
  /** Where `pcc` is searched if these two are gone, as a PATH. */
  search: string
  /** `--config` and `--data-dir`, if they were given when the hooks were installed. */
  config?: string | undefined
  data?: string | undefined
}

export type LauncherState = 'missing' | 'kept' | 'written'

/**
 * Writes the launcher again if pcc or node moved. It is the one program that the settings of agents name, so its path never changes.
 * Without `create` a launcher that nobody installed stays absent.
 */
export function refreshLauncher(
  paths: Pick<AppPaths, 'home'>,
  { env, create = false, ...chosen }: { env: Record<string, string | undefined>; create?: boolean } & ChosenPaths,
): LauncherState {
  const file = hookLauncher(paths)
  const found = readLauncher(file)
  if (found === undefined && !create) return 'missing'
  const text = launcherText({
    ...{ home: paths.home, node: process.execPath, pcc: packagePath('bin/pcc.js') },
    ...{ search: pathOutsideProjects(env['PATH']), ...(create ? chosen : readChosenPaths(paths)) },
  })
  if (found === text) return 'kept'
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  chmodSync(dirname(file), 0o700)
  rmLink(file)
  replaceFile(file, text, 0o700)
  return 'written'
}

/** `replaceFile` follows a link, and somebody else's file must not become our launcher. */
function rmLink(file: string): void {
  if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink()) rmSync(file)
}

type ChosenPaths = Pick<LauncherPaths, 'config' | 'data'>

/** The text of a launcher that is a plain file, belongs to us and runs; any other one is written again. */
function readLauncher(file: string): string | undefined {
  const stats = lstatSync(file, { throwIfNoEntry: false })
  if (!stats) return undefined
  const isSound = stats.isFile() && stats.uid === process.getuid?.() && (stats.mode & 0o777) === 0o700
  return isSound ? readFileSync(file, 'utf8') : ''
}

function readChosenPaths(paths: Pick<AppPaths, 'home'>): ChosenPaths {
  try {
    const { place = {} } = JSON.parse(readFileSync(hookRecord(paths), 'utf8')) as { place?: ChosenPaths }
    return place
  } catch {
    return {} // nothing is recorded: the standard places count
  }
}

/**
 * Variables that make node or its libraries load code, write files or believe other certificates. An agent's project may set them
 * (`env` in `.claude/settings.json`), and hooks inherit them.
 */
const LOADERS = [
  ...['NODE_OPTIONS', 'NODE_PATH', 'NODE_V8_COVERAGE', 'NODE_REDIRECT_WARNINGS', 'NODE_ICU_DATA', 'NODE_CHANNEL_FD'],
  ...['NODE_UNIQUE_ID', 'NODE_EXTRA_CA_CERTS', 'NODE_TLS_REJECT_UNAUTHORIZED', 'NODE_DEBUG', 'NODE_DEBUG_NATIVE'],
  ...['NODE_PENDING_DEPRECATION', 'NODE_PRESERVE_SYMLINKS', 'NODE_REPL_EXTERNAL_MODULE', 'NODE_TEST_CONTEXT'],
  ...['NODE_COMPILE_CACHE_PORTABLE', 'NODE_DISABLE_COMPILE_CACHE', 'OPENSSL_CONF', 'OPENSSL_MODULES'],
  ...['OPENSSL_ENGINES', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'BASH_ENV', 'ENV', 'CDPATH', 'LD_PRELOAD', 'LD_AUDIT'],
  ...['LD_LIBRARY_PATH', 'DYLD_INSERT_LIBRARIES', 'DYLD_LIBRARY_PATH'],
]

/**
 * The script. It starts `pcc hook` with the vendor, the event and its home.
 * - In a sandbox of pcc it says nothing: there the session's own gate decides. It knows the sandbox by two things together: the mark of
 *   the session, and that pcc's own record cannot be seen. A variable alone never switches a hook off.
 * - If pcc is gone, it refuses what it would have decided.
 */
export function launcherText({ home, node, pcc, search, config, data }: LauncherPaths): string {
  const quoted = quoteForShell
  const chosen = Object.entries({ '--config': config, '--data-dir': data }).flatMap(([flag, path]) =>
    path === undefined ? [] : [` ${flag} ${quoted(path)}`],
  )
  const call = `hook "$1" "$2" --home ${quoted(home)}${chosen.join('')}`
  const folders = search.split(':').map(quoted).join(' ')
  const variables = { PCC_HOME: home, NODE_COMPILE_CACHE: join(home, 'hooks', 'cache') }
  const set = Object.entries(variables).map(([name, value]) => `${name}=${quoted(value)}; export ${name}`)
  const refusals = HOOK_VENDORS.flatMap(vendor =>
    Object.values(hookTranslator(vendor).manifest.events)
      .flat()
      .flatMap(native => refusalLine(vendor, native)),
  )
  return `${shebang()}
# Written by pcc, which writes it again when it moves. Agents run it for each of their hooks: pcc hooks status
unset ${[...LOADERS, 'PCC_CONFIG', ...settingVariables()].join(' ')}
IFS=' 	
'
if [ -n "\${PCC_SESSION_MARK-}" ] && [ ! -e ${quoted(hookRecord({ home }))} ]; then exit 0; fi
${set.join('\n')}
if [ -x ${quoted(node)} ] && [ -r ${quoted(pcc)} ]; then exec ${quoted(node)} ${quoted(pcc)} ${call}; fi
for folder in ${folders}; do
  if [ -x "$folder/pcc" ]; then PATH=${quoted(search)}; export PATH; exec "$folder/pcc" ${call}; fi
done
case "$1 $2" in
${refusals.join('\n')}
esac
exit 0
`
}

const GONE = 'pcc is not where it was, so nothing can judge this call. A person runs: pcc hooks doctor'

function refusalLine(vendor: HookVendor, native: string): string[] {
  const { stdout, stderr, exit } = refuseHook(vendor, native, GONE)
  if (stdout === '' && stderr === '' && exit === 0) return []
  const prints = [
    ...(stdout === '' ? [] : [`printf '%s' ${quoteForShell(stdout)}`]),
    ...(stderr === '' ? [] : [`printf '%s' ${quoteForShell(stderr)} >&2`]),
  ]
  return [`${quoteForShell(`${vendor} ${native}`)}) ${[...prints, `exit ${exit}`].join('; ')} ;;`]
}

/** With -p a shell takes no functions from the environment, which could stand for its own commands. Some small shells lack it. */
function shebang(): string {
  const run = { command: '/bin/sh', args: ['-p', '-c', ':'], cwd: '/', env: {}, timeoutMs: 5_000, maxBytes: 1_000 }
  return runShortSync(run).code === 0 ? '#!/bin/sh -p' : '#!/bin/sh'
}
