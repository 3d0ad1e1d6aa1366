import { execFileSync } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { bareEnv, gitProject, tempDir } from '../../support/world.ts'

/** A worktree, and a shell in it as an agent has one. A planted program leaves the file `sprung`. */
export function worktreeOfAgent(t: TestContext) {
  const aside = realpathSync(tempDir(t))
  const root = gitProject(t, { a: 'one\n' })
  const [top, sprung] = [join(aside, 'tree'), join(aside, 'sprung')]
  const shell = (script: string, cwd = top) =>
    execFileSync('sh', ['-ec', script], { cwd, env: { ...bareEnv(aside), ...WHO }, stdio: 'pipe', encoding: 'utf8' })
  shell(`git worktree add -q -b task '${top}'`, root)
  return { aside, root, top, sprung, shell }
}

export const WHO = {
  GIT_AUTHOR_NAME: 'A',
  GIT_AUTHOR_EMAIL: 'a@example.invalid',
  GIT_COMMITTER_NAME: 'A',
  GIT_COMMITTER_EMAIL: 'a@example.invalid',
}
