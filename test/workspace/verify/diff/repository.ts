import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'

/** Files of a tree by path; `null` for a deleted one. */
export type Tree = Record<string, string | Buffer | null | { link: string }>

/** A real repository for one test. Each `commit` writes files and returns the commit's id. */
export function repository(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), 'pcc-diff-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: directory, env: GIT_ENV, encoding: 'utf8' }).trim()
  git('init', '-q', '-b', 'main')
  return {
    directory,
    git,
    commit(tree: Tree): string {
      for (const [path, content] of Object.entries(tree)) write(join(directory, path), content)
      git('add', '-A')
      git('commit', '-q', '--allow-empty', '-m', 'work')
      return git('rev-parse', 'HEAD')
    },
  }
}

const GIT_ENV = {
  PATH: process.env['PATH'] ?? '',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@example.org',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@example.org',
}

function write(path: string, content: Tree[string]): void {
  rmSync(path, { force: true, recursive: true })
  if (content === null || content === undefined) return
  mkdirSync(dirname(path), { recursive: true })
  if (typeof content === 'string' || Buffer.isBuffer(content)) writeFileSync(path, content)
  else symlinkSync(content.link, path)
}
