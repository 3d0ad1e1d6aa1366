import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { openIndex } from '../../../src/knowledge/index/code-index.ts'
import type { RunGit } from '../../../src/knowledge/index/source-tree.ts'
import { type ParseFiles, splitByLines } from '../../../src/knowledge/index/update.ts'
import { git } from '../../../src/workspace/git/git.ts'
import { bareEnv, type Ending, gitProject, tempDir } from '../../support/world.ts'

/** The index of a project, with the git that the daemon passes in. */
export function anIndex(t: Ending, projectRoot: string, { data = tempDir(t), parse = byLines }: IndexSetup = {}) {
  const run: RunGit = (args, options) => git(projectRoot, args, options)
  const index = openIndex({ projectRoot, data, git: run, parse })
  t.after(() => index[Symbol.asyncDispose]())
  return index
}

interface IndexSetup {
  data?: string
  parse?: ParseFiles
}

/** A project in git, and its index. */
export function indexedProject(t: Ending, files: Record<string, string>, parse?: ParseFiles) {
  const root = gitProject(t, files)
  const data = tempDir(t)
  return { root, data, index: anIndex(t, root, { data, ...(parse && { parse }) }) }
}

export const byLines: ParseFiles = async function* (files) {
  for await (const { path, text } of files) yield [{ path, parsed: splitByLines(path, text) }]
}

export function write(root: string, path: string, text: string | Buffer): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
}

export function runGit(root: string, ...args: string[]): string {
  const who = ['-c', 'user.name=Test', '-c', 'user.email=test@example.invalid']
  return execFileSync('git', [...who, ...args], { cwd: root, env: bareEnv(root), stdio: 'pipe' }).toString()
}
