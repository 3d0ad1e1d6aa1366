import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { removeTreeNow } from '../../src/base/sandbox/home.ts'

/** Anything with an end at which to clean up: a test, or all tests of a file. */
export type Ending = Pick<TestContext, 'after'>

/** A directory for one test, removed when the test ends. */
export function tempDir(t: Ending, name = 'pcc-test-'): string {
  const dir = mkdtempSync(join(tmpdir(), name))
  t.after(() => {
    try {
      rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
    } catch {
      removeTreeNow(dir) // a layer of a cache leaves folders that are closed to their owner
    }
  })
  return dir
}

/** A git project with one commit. */
export function gitProject(t: Ending, files: Record<string, string> = { 'README.md': '# sample\n' }): string {
  const dir = tempDir(t, 'pcc-project-')
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), text)
  }
  makeRepository(dir)
  return dir
}

/** Makes a repository of a directory, with its whole content as the first commit. */
export function makeRepository(dir: string, { hash = 'sha1' }: { hash?: 'sha1' | 'sha256' } = {}): void {
  execFileSync('git', ['init', '-q', '-b', 'main', `--object-format=${hash}`], {
    cwd: dir,
    env: bareEnv(dir),
    stdio: 'pipe',
  })
  commitAll(dir, 'first')
}

/** Commits everything in a repository. */
export function commitAll(dir: string, message: string): void {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: dir, env: bareEnv(dir), stdio: 'pipe' })
  git('add', '-A')
  git('-c', 'user.name=Test', '-c', 'user.email=test@example.invalid', 'commit', '-q', '--allow-empty', '-m', message)
}

/** The smallest environment that a program needs, without this machine's settings, logins or keys. */
export function bareEnv(home: string): Record<string, string> {
  return {
    HOME: home,
    PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
    LANG: 'C.UTF-8',
    TERM: 'xterm-256color',
    GIT_CONFIG_NOSYSTEM: '1',
    ...UNPROVEN_ALLOWED,
    ...NOT_INDEXED,
    ...NOT_LEARNING,
    // The test runner uses this to find processes that a test left running.
    ...(process.env['PCC_TEST_RUN'] ? { PCC_TEST_RUN: process.env['PCC_TEST_RUN'] } : {}),
  }
}

/** Most projects of tests have no checks, and their tests are about something else than what becomes of unproven work. */
export const UNPROVEN_ALLOWED = { PCC_GATES_UNPROVEN: 'allow' }

/** Most tests are not about the code of their project, and an index takes two processes. */
export const NOT_INDEXED = { PCC_KNOWLEDGE_ENABLED: 'false' }

/** Nor are they about what was learned before. */
export const NOT_LEARNING = { PCC_MEMORY_ENABLED: 'false' }

/** For a child that runs our own source, never for an agent: processes share the compile cache. */
export const COMPILED = {
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? join(tmpdir(), 'node-compile-cache'),
}

/** The environment of an agent under test: its own home, a fake key, the simulator on loopback and nothing else. */
export function agentEnv(home: string, baseUrl: string, auth: 'key' | 'oauth' = 'key'): Record<string, string> {
  return {
    ...bareEnv(home),
    CLAUDE_CONFIG_DIR: join(home, '.claude'),
    ANTHROPIC_BASE_URL: baseUrl,
    ...(auth === 'key' ? { ANTHROPIC_API_KEY: 'sk-ant-fake-0000' } : { CLAUDE_CODE_OAUTH_TOKEN: 'fake-oauth-token' }),
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_AUTOUPDATER: '1',
    CLAUDE_CODE_MAX_RETRIES: '1',
    // The simulator speaks plain HTTP. Reading the 140 certificates of the system would be a tenth of the cost of every start.
    CLAUDE_CODE_CERT_STORE: 'bundled',
  }
}
