import { execFileSync } from 'node:child_process'
import type { RunGit, SourceEntry, SourceTree } from '../../src/knowledge/index/source-tree.ts'

const MOST_BYTES = 1_000_000_000

/** Git in a repository that its owner measures; nothing is written to it. */
export function gitIn(repository: string) {
  const run = (args: readonly string[], input?: string): Buffer =>
    execFileSync('git', ['--no-optional-locks', ...args], {
      cwd: repository,
      input,
      maxBuffer: MOST_BYTES,
      stdio: ['pipe', 'pipe', 'pipe'],
    })
  const runGit: RunGit = async args => {
    try {
      return { ok: true, stdout: run(args).toString(), stderr: '' }
    } catch (error) {
      return { ok: false, stdout: '', stderr: String(error) }
    }
  }
  return { run, runGit }
}

export type Git = ReturnType<typeof gitIn>

/** The files of a commit, as the working tree was at that time. The contents of `wanted` are read at once, because a process for each would take minutes. */
export function commitTree({ run }: Git, commit: string, isWanted: (entry: SourceEntry) => boolean): SourceTree {
  const entries = readEntries(run(['ls-tree', '-r', '-z', commit]).toString())
  const contents = readBlobs(run, new Set(entries.filter(isWanted).map(({ key }) => key)))
  return {
    commit,
    dirtyFiles: 0,
    entries,
    read: async ({ key }) => {
      const content = contents.get(key)
      return content && { content, size: content.length, isSure: true }
    },
  }
}

/** `<mode> blob <hash>\t<path>` */
function readEntries(listed: string): SourceEntry[] {
  return listed.split('\0').flatMap(line => {
    const tab = line.indexOf('\t')
    return line.startsWith('100') ? [{ path: line.slice(tab + 1), key: line.slice(12, tab) }] : []
  })
}

/** `git cat-file --batch`: `<hash> blob <size>\n<content>\n` for each. */
function readBlobs(run: Git['run'], keys: Set<string>): Map<string, Buffer> {
  const contents = new Map<string, Buffer>()
  if (keys.size === 0) return contents
  const output = run(['cat-file', '--batch'], `${[...keys].join('\n')}\n`)
  let at = 0
  for (const key of keys) {
    const end = output.indexOf(10, at)
    const size = Number(output.toString('latin1', at, end).split(' ')[2])
    contents.set(key, output.subarray(end + 1, end + 1 + size))
    at = end + 2 + size
  }
  return contents
}

/** A question that the history of a repository answers: a commit's subject, and the files that it changed. */
export interface HistoryQuery {
  subject: string
  /** The commit before it. */
  parent: string
  /** Paths as they were before. */
  changed: string[]
}

/** A commit that changes more files is about no file in particular. */
const MOST_CHANGED = 20

/** The last commits with a parent and a few changed files, the oldest first. Merges are the work of others. */
export function historyQueries({ run }: Git, count: number, before: string): HistoryQuery[] {
  const log = run(['log', '-z', '--no-merges', '--topo-order', '--name-status', '-M', '--format=%x01%P%x00%s', before])
  const queries: HistoryQuery[] = []
  for (const record of log.toString().split('\x01').slice(1)) {
    const [parent = '', subject = '', ...fields] = record.split('\0')
    const changed = changedPaths(fields)
    if (
      /^[0-9a-f]{40,64}$/.test(parent) &&
      subject.trim() !== '' &&
      changed.length > 0 &&
      changed.length <= MOST_CHANGED
    )
      queries.push({ subject, parent, changed })
    if (queries.length === count) break
  }
  return queries.reverse()
}

/** The files that a commit found and changed: not what it added. */
function changedPaths(fields: readonly string[]): string[] {
  const paths: string[] = []
  for (let at = 0; at < fields.length; ) {
    const status = (fields[at] ?? '').trim()
    if (status !== '' && !/^[AC]/.test(status)) paths.push(fields[at + 1] ?? '')
    at += status === '' ? 1 : /^[RC]/.test(status) ? 3 : 2
  }
  return paths
}
