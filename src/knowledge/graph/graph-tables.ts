import type { ParsedFile } from '../../base/syntax/parsed-file.ts'
import { queryTokens } from '../../base/tokens.ts'
import type { IndexFile } from '../index/index-file.ts'
import { scoreRows } from '../index/score.ts'
import { importKeys, keysOfPath } from './resolve-import.ts'

/** Stores which files have an import with a certain last word. What an import means depends on which files there are, so it is resolved when it is asked for. */
export function putImports(index: IndexFile, id: number, { imports }: ParsedFile): void {
  const words = new Set(imports.flatMap(importKeys).map(wordOf))
  if (words.size > 0) index.run('insert into imports (rowid, words) values (?, ?)', id, [...words].join(' '))
}

/** The files that may import a file: one of their imports ends with its name. */
export function possibleImporters(index: IndexFile, path: string): { id: number; path: string }[] {
  const found = keysOfPath(path).flatMap(key =>
    index.rows<{ id: number; path: string }>(
      'select id, path from files where id in (select rowid from imports where imports match ?)',
      `"${wordOf(key)}"`,
    ),
  )
  return [...new Map(found.map(file => [file.id, file])).values()].filter(file => file.path !== path)
}

/** A key as one word of a table; what is joined so by mistake is sorted out when the import is resolved. */
function wordOf(key: string): string {
  return key.replace(/[^\p{L}\p{N}]/gu, '=')
}

/** Files that contain a name, those that are most about it. */
export function filesThatMention(index: IndexFile, name: string, most: number): Set<number> {
  const [token] = queryTokens(name)
  if (token === undefined) return new Set()
  return new Set(
    scoreRows(index, 'body', [token])
      .slice(0, most)
      .map(({ id }) => id),
  )
}

/** A file that was often changed in the same commits as another. */
export interface ChangedWith {
  path: string
  /** The commits that changed both. */
  commits: number
  /** How much of the history of the first file that is, where a commit counts less the more files it changed. From 0 to 1. */
  share: number
}

/** Fewer common commits are chance. */
const MIN_COMMITS = 2

/** The files that were changed together with a file, the closest first. */
export function changedWith(index: IndexFile, path: string, most: number): ChangedWith[] {
  const name = index.row<{ id: number }>('select id from names where path = ?', path)?.id
  if (name === undefined) return []
  const total = index.row<{ weight: number }>(`select sum(1.0 / files) as weight from (${COUNTED})`, name)?.weight ?? 0
  const found = index.rows<{ path: string; commits: number; weight: number }>(
    `select names.path, count(*) as commits, sum(1.0 / own.files) as weight
     from (${COUNTED}) own join changes on changes.commit_id = own.commit_id
     join names on names.id = changes.name_id join files on files.id = names.id
     where changes.name_id <> ?1 group by names.id having commits >= ${MIN_COMMITS} order by weight desc, names.path limit ?2`,
    name,
    most,
  )
  return found.map(({ path, commits, weight }) => ({
    path,
    commits,
    share: total > 0 ? Math.min(1, weight / total) : 0,
  }))
}

/** The commits of one file, each with the number of files that it changed. */
const COUNTED = `select commit_id, (select count(*) from changes each where each.commit_id = changes.commit_id) as files
  from changes where name_id = ?1`
