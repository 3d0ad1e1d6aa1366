import { chmodSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Finding } from '../../../../src/domain/evidence.ts'
import type { DiffChange } from '../../../../src/workspace/verify/diff/change.ts'
import { readChange } from '../../../../src/workspace/verify/diff/diff-findings.ts'
import { judgeChange } from '../../../../src/workspace/verify/diff/judge-change.ts'
import { repository, type Tree } from './repository.ts'

/** One change of the corpus, in this format: `=== title`, `@@ path`, then the lines of a diff. */
export interface Case {
  title: string
  file: string
  before: Tree
  after: Tree
  executable: string[]
}

export interface Judged {
  case: Case
  findings: Finding[]
  isBlocked: boolean
}

export function readCases(folder: string): Case[] {
  const directory = join(import.meta.dirname, 'corpus', folder)
  return readdirSync(directory)
    .sort()
    .flatMap(name => parseCases(readFileSync(join(directory, name), 'utf8'), `${folder}/${name}`))
}

function parseCases(text: string, file: string): Case[] {
  return text
    .split(/^=== /m)
    .slice(1)
    .map(part => {
      const [title = '', ...rest] = part.split('\n')
      const one: Case = { title, file, before: {}, after: {}, executable: [] }
      for (const section of rest.join('\n').split(/^@@ /m).slice(1)) addFile(one, section)
      return one
    })
}

function addFile(one: Case, section: string): void {
  const [head = '', ...lines] = section.split('\n')
  const [path = '', mark] = head.split(' ')
  if (mark === '+x') one.executable.push(path)
  const side = (gone: string) => lines.filter(line => line !== '' && !line.startsWith(gone)).map(line => line.slice(1))
  const [before, after] = [side('+'), side('-')]
  if (before.length > 0) one.before[path] = `${before.join('\n')}\n`
  if (after.length > 0) one.after[path] = `${after.join('\n')}\n`
}

/** Judges all cases in one real repository: each has its own folder, whose name is removed from the paths again. */
export async function judgeCases(t: TestContext, cases: readonly Case[]): Promise<Judged[]> {
  const repo = repository(t)
  const base = repo.commit({ 'README.md': 'a', ...inFolders(cases, 'before') })
  const gone = cases.flatMap((one, index) =>
    Object.keys(one.before)
      .filter(path => !(path in one.after))
      .map(path => [`c${index}/${path}`, null] as const),
  )
  const after = { ...inFolders(cases, 'after'), ...Object.fromEntries(gone) }
  repo.commit(after)
  for (const [index, one] of cases.entries())
    for (const path of one.executable) chmodSync(join(repo.directory, `c${index}`, path), 0o755)
  const head = repo.commit({})
  const change = await readChange({ directory: repo.directory, base, head })
  if (change === undefined) throw new Error('git cannot show the corpus')
  return cases.map((one, index) => {
    const findings = judgeChange(within(change, `c${index}/`), {
      maxChangedLines: 5_000,
      forbiddenPaths: [],
      allow: [],
    })
    return { case: one, findings, isBlocked: findings.some(({ weight }) => weight === 'block') }
  })
}

function inFolders(cases: readonly Case[], side: 'before' | 'after'): Tree {
  return Object.fromEntries(
    cases.flatMap((one, index) => Object.entries(one[side]).map(([path, text]) => [`c${index}/${path}`, text])),
  )
}

function within({ files, unchanged }: DiffChange, folder: string): DiffChange {
  const cut = (path: string) => path.slice(folder.length)
  return {
    files: files.filter(({ path }) => path.startsWith(folder)).map(file => ({ ...file, path: cut(file.path) })),
    unread: [],
    unchanged: new Map(
      [...unchanged].filter(([path]) => path.startsWith(folder)).map(([path, text]) => [cut(path), text]),
    ),
  }
}
