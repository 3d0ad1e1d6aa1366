import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DEMO_FILES } from './scenario.ts'

/** A world of its own: nothing of the person's home, settings, logins or keys is in it. */
export interface DemoWorld extends Disposable {
  root: string
  project: string
  /** What must still be there in the end. */
  keepsake: string
  /** The environment of everything that runs in it. */
  env: Record<string, string>
}

/** Makes the world of the demo: a home, a git project whose tests fail, and backups beside it that are not to be touched. */
export function makeWorld(caller: Record<string, string | undefined>): DemoWorld {
  const root = mkdtempSync(join(tmpdir(), 'pcc-demo-'))
  const home = join(root, 'home')
  const project = join(root, 'slugs')
  const keepsake = join(root, 'backups', 'photos.txt')
  const env = bareEnvironment(root, home, caller)
  try {
    for (const [path, text] of Object.entries(DEMO_FILES)) write(join(project, path), text)
    write(keepsake, 'ten years of photos\n')
    mkdirSync(home)
    const git = (...args: string[]) => execFileSync('git', args, { cwd: project, env, stdio: 'pipe' })
    git('init', '-q', '-b', 'main')
    git('config', 'user.name', 'Demo')
    git('config', 'user.email', 'demo@example.invalid')
    git('add', '-A')
    git('commit', '-q', '-m', 'Tests first')
  } catch (error) {
    remove(root)
    throw error
  }
  return { root, project, keepsake, env, [Symbol.dispose]: () => remove(root) }
}

/** From the caller only how to show things; the way to programs is the system's and this Node's. */
function bareEnvironment(
  root: string,
  home: string,
  caller: Record<string, string | undefined>,
): Record<string, string> {
  const shown = ['LANG', 'LC_ALL', 'TZ', 'TERM', 'PCC_TEST_RUN'].flatMap(name => {
    const value = caller[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return {
    ...Object.fromEntries(shown),
    HOME: home,
    TMPDIR: tmpdir(),
    PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
    PCC_HOME: join(root, 'pcc'),
    // It is here for a minute, and whoever must kill it means it.
    PCC_DAEMON_PARENT: 'false',
    CLAUDE_CONFIG_DIR: join(home, '.claude'),
    GIT_CONFIG_NOSYSTEM: '1',
  }
}

/** What points the real agent at the scripted model, with a key that is worth nothing elsewhere. */
export function agentVariables(url: string): Record<string, string> {
  return {
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: 'sk-ant-demo-not-a-key',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    CLAUDE_CODE_MAX_RETRIES: '2',
    DISABLE_TELEMETRY: '1',
    DISABLE_AUTOUPDATER: '1',
  }
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

function remove(root: string): void {
  rmSync(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
}
