import { execFileSync } from 'node:child_process'
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { silentLog } from '../../../src/base/log.ts'
import { openGuard } from '../../../src/base/process/guardian.ts'
import type { Worktree } from '../../../src/domain/worktree.ts'
import { openStore } from '../../../src/store/open.ts'
import type { Store } from '../../../src/store/store.ts'
import { readCommandCaps } from '../../../src/workspace/command/command-caps.ts'
import type { GateSettings } from '../../../src/workspace/verify/gate-settings.ts'
import type { VerifyDeps, VerifyRequest } from '../../../src/workspace/verify/request.ts'
import { tempDir } from '../../support/world.ts'

const guard = openGuard()

export interface VerifyFixture {
  worktree: Worktree
  store: Store
  git(...args: string[]): string
  write(path: string, text: string): void
  request(more?: Partial<VerifyRequest>, gates?: Partial<GateSettings>): VerifyRequest
  deps(more?: Partial<VerifyDeps>): VerifyDeps
}

/** A repository with these files, and a worktree of it in which an attempt works. */
export async function openVerifyFixture(
  t: TestContext,
  files: Record<string, string> = { 'a.txt': 'a\n' },
): Promise<VerifyFixture> {
  const root = realpathSync(tempDir(t))
  const [repository, top, home] = [join(root, 'repository'), join(root, 'worktree'), join(root, 'home')]
  for (const folder of [repository, home]) mkdirSync(folder)
  const run = (cwd: string, args: string[]) =>
    execFileSync('git', args, { cwd, env: gitEnv(home), encoding: 'utf8' }).trim()
  run(repository, ['init', '-q', '-b', 'main'])
  put(repository, files)
  run(repository, ['add', '-A'])
  run(repository, ['commit', '-qm', 'base'])
  run(repository, ['worktree', 'add', '-q', '-b', 'pcc/t-1', top])
  const store = await openStore({ file: join(root, 'store.db') })
  t.after(() => store.close())
  const base = run(top, ['rev-parse', 'HEAD'])
  const worktree: Worktree = { directory: top, top, task: 't-1', attempt: 1, branch: 'pcc/t-1', target: 'main', base }
  const env = { PATH: process.env['PATH'], HOME: home }
  return {
    worktree,
    store,
    git: (...args) => run(top, args),
    write: (path, text) => put(top, { [path]: text }),
    request: (more, gates) => ({
      ...{
        worktree,
        directory: worktree.directory,
        plan: [],
        openChildren: 0,
        round: 1,
        signal: new AbortController().signal,
      },
      task: { id: 't-1', title: 'Do it', description: 'Do it well.', acceptance: '', attempt: 1 },
      gates: {
        ...{
          profile: 'standard',
          commands: {},
          timeoutMs: 60_000,
          env: [],
          rounds: 3,
          verifier: 'auto',
          knownFailures: 'block',
          unproven: 'ask',
        },
        diff: { maxChangedLines: 0, forbiddenPaths: [], allow: [] },
        caps: readCommandCaps(),
        ...gates,
      },
      ...more,
    }),
    deps: more => ({
      ...{ store, clock: systemClock, log: silentLog, paths: { run: join(root, 'run') }, env, guard },
      isolation: 'marker',
      ...more,
    }),
  }
}

function put(top: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(top, path)), { recursive: true })
    writeFileSync(join(top, path), text)
  }
}

function gitEnv(home: string): Record<string, string | undefined> {
  const who = { GIT_AUTHOR_NAME: 'T', GIT_AUTHOR_EMAIL: 't@t', GIT_COMMITTER_NAME: 'T', GIT_COMMITTER_EMAIL: 't@t' }
  return { PATH: process.env['PATH'], HOME: home, GIT_CONFIG_NOSYSTEM: '1', ...who }
}
