import { findProgram } from '../process/find-program.ts'
import { problemOf, runShort, type ShortCommandResult } from '../process/run-short.ts'
import { pathOutsideProjects } from '../search-path.ts'

type Env = Record<string, string | undefined>
type Problem = { problem: string }

/** The keyring of the person's desktop. Values go through pipes, never through arguments. */
export interface Keyring {
  read(name: string): Promise<{ value: string } | Problem>
  write(name: string, value: string): Promise<Problem | undefined>
  remove(name: string): Promise<Problem | undefined>
}

/** A locked keyring asks the person in a window of its own; a daemon cannot wait for that. */
const READ_MS = 10_000
const WRITE_MS = 60_000
const MAX_BYTES = 256 * 1024

/** The keyring of this machine, if its program is installed. That it works is known only after a call. */
export function findKeyring({
  env,
  home,
  platform = process.platform,
}: {
  env: Env
  /** Each installation has its own secrets. */
  home: string
  platform?: string
}): Keyring | undefined {
  const path = pathOutsideProjects(env['PATH'])
  const program = findProgram(platform === 'darwin' ? 'security' : 'secret-tool', { PATH: path })
  if (program === undefined) return undefined
  // Without the daemon's own variables, and with a search path on which no project puts programs.
  const own = Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('PCC_')))
  const run = (args: string[], options: { timeoutMs: number; input?: string }) =>
    runShort({ command: program, args, cwd: '/', env: { ...own, PATH: path }, maxBytes: MAX_BYTES, ...options })
  return platform === 'darwin' ? keychain(run, home) : secretService(run, home)
}

type Run = (args: string[], options: { timeoutMs: number; input?: string }) => Promise<ShortCommandResult>

/** The Secret Service of Linux desktops (GNOME Keyring, KWallet, KeePassXC) through `secret-tool`. */
function secretService(run: Run, home: string): Keyring {
  const attributes = (name: string) => ['service', 'perpetualcc', 'home', home, 'name', name]
  return {
    async read(name) {
      const result = await run(['lookup', ...attributes(name)], { timeoutMs: READ_MS })
      // It ends with 1 and says nothing where there is no such entry.
      if (result.code === 1 && result.stderr.trim() === '') return { problem: 'the keyring has no such entry' }
      const problem = explain(result)
      return problem ?? { value: result.stdout }
    },
    async write(name, value) {
      const args = ['store', `--label=PerpetualCC: ${name}`, ...attributes(name)]
      return explain(await run(args, { timeoutMs: WRITE_MS, input: value }))
    },
    async remove(name) {
      const result = await run(['clear', ...attributes(name)], { timeoutMs: WRITE_MS })
      return result.code === 1 && result.stderr.trim() === '' ? undefined : explain(result)
    },
  }
}

/** `security` ends with this code where there is no such entry. */
const NOT_FOUND = 44

/**
 * The keychain of macOS. `security` takes a value only as an argument, except from commands on its standard input (`-i`). The value
 * is stored in base64, because `security` prints some values in hexadecimal and does not say so.
 */
function keychain(run: Run, home: string): Keyring {
  const service = `perpetualcc ${home}`
  return {
    async read(name) {
      const result = await run(['find-generic-password', '-a', name, '-s', service, '-w'], { timeoutMs: READ_MS })
      if (result.code === NOT_FOUND) return { problem: 'the keychain has no such entry' }
      const problem = explain(result)
      return problem ?? { value: Buffer.from(result.stdout.trim(), 'base64').toString('utf8') }
    },
    async write(name, value) {
      if (/["\\\n]/.test(service))
        return { problem: 'the path of the home has characters that the keychain cannot take' }
      const encoded = Buffer.from(value).toString('base64')
      const input = `add-generic-password -U -a "${name}" -s "${service}" -w "${encoded}"\n`
      const problem = explain(await run(['-i'], { timeoutMs: WRITE_MS, input }))
      if (problem) return problem
      // The interactive mode ends with 0 also when a command in it failed.
      const stored = await this.read(name)
      return 'value' in stored && stored.value === value ? undefined : { problem: 'the keychain did not store it' }
    },
    async remove(name) {
      const result = await run(['delete-generic-password', '-a', name, '-s', service], { timeoutMs: WRITE_MS })
      return result.code === NOT_FOUND ? undefined : explain(result)
    },
  }
}

function explain(result: ShortCommandResult): Problem | undefined {
  if (result.timedOut) return { problem: `${problemOf(result)}: it may be locked, and nobody unlocked it` }
  const problem = problemOf(result)
  if (problem === undefined) return undefined
  return { problem: result.stderr.trim().split('\n')[0]?.slice(0, 300) || problem }
}
