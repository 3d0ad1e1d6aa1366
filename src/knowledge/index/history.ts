import { tokensOfNames } from '../../base/tokens.ts'
import type { IndexFile } from './index-file.ts'
import type { RunGit } from './source-tree.ts'

/** Older commits say little about the code of today. */
const MOST_COMMITS = 5000
/** A commit that changes more files (a new licence header, a new formatter) says nothing about any of them. */
const MOST_FILES = 40
const MOST_LOG_BYTES = 128_000_000

/** One commit of the log: its subject, and what it did to which path. */
interface LoggedCommit {
  hash: string
  subject: string
  changes: { path: string; renamedFrom?: string }[]
}

/**
 * Brings the history of the index to a commit. Only what is new is read; after a rebase, or on another branch, everything. A repository
 * without commits, or a shallow one, has as much history as git knows.
 */
export async function updateHistory(
  index: IndexFile,
  { commit, git }: { commit: string | undefined; git: RunGit },
  signal?: AbortSignal,
): Promise<void> {
  const known = index.readMeta('history')
  if (commit === undefined || known === commit) return
  const isAhead = known !== undefined && (await git(['merge-base', '--is-ancestor', known, commit], { signal })).ok
  const log = await git(
    [
      ...['log', '-z', '--no-merges', '--name-status', '-M', '--relative', `-n${MOST_COMMITS}`],
      ...['--format=%x01%H%x00%s', isAhead ? `${known}..${commit}` : commit, '--', '.'],
    ],
    { signal, maxBytes: MOST_LOG_BYTES },
  )
  if (!log.ok) return // what is there stays; the next update tries again
  const commits = log.stdout.split('\x01').flatMap(readCommit).reverse()
  index.transaction(() => {
    if (!isAhead) {
      for (const table of ['commits', 'changes', 'history']) index.run(`delete from ${table}`)
      index.run('update names set changed = 0')
    }
    for (const each of commits) addCommit(index, each)
    index.writeMeta('history', commit)
  })
}

/** `<hash>\0<subject>\0\nM\0<path>\0R087\0<old>\0<new>\0`. Commits without changes end after the subject. */
function readCommit(record: string): LoggedCommit[] {
  const [hash = '', subject = '', ...fields] = record.split('\0')
  if (!/^[0-9a-f]{40,64}$/.test(hash)) return []
  const changes: LoggedCommit['changes'] = []
  for (let at = 0; at < fields.length; ) {
    const status = (fields[at] ?? '').trim()
    if (/^[RC]/.test(status)) {
      const [from = '', path = ''] = [fields[at + 1], fields[at + 2]]
      changes.push(status.startsWith('R') ? { path, renamedFrom: from } : { path })
      at += 3
    } else {
      if (status !== '') changes.push({ path: fields[at + 1] ?? '' })
      at += status === '' ? 1 : 2
    }
  }
  return [{ hash, subject, changes }]
}

/** Commits are added from the oldest on, so that the history of a renamed file follows it. */
function addCommit(index: IndexFile, { hash, subject, changes }: LoggedCommit): void {
  const counts = changes.length > 0 && changes.length <= MOST_FILES
  const id = index.run('insert into commits (hash) values (?)', Buffer.from(hash, 'hex'))
  if (counts)
    index.run('insert into history (rowid, words) values (?, ?)', id, [...new Set(tokensOfNames(subject))].join(' '))
  for (const { path, renamedFrom } of changes) {
    const name = nameId(index, path)
    index.run('update names set changed = ? where id = ?', id, name)
    if (renamedFrom !== undefined)
      index.run('update or ignore changes set name_id = ? where name_id = ?', name, nameId(index, renamedFrom))
    if (counts) index.run('insert or ignore into changes (name_id, commit_id) values (?, ?)', name, id)
  }
}

/** The id of a path, old or new. */
export function nameId(index: IndexFile, path: string): number {
  const known = index.row<{ id: number }>('select id from names where path = ?', path)
  return known?.id ?? index.run('insert into names (path) values (?)', path)
}
