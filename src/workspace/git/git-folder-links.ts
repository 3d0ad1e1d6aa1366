import { type Dirent, readdirSync, readlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readRegularFileNow } from '../../base/files.ts'
import { lookUpEntry, realPathIfAny } from '../../base/is-there.ts'
import type { GitFolder } from './git-folder.ts'

/**
 * Why git must not write in a checkout; undefined if it may. Git writes through links: a linked `COMMIT_EDITMSG` overwrites the
 * file that it leads to, a linked `logs/HEAD` is appended to. An agent can put them there, and the daemon's git reaches further than
 * the agent.
 */
export function whyGitMustNotWrite(
  folder: GitFolder | undefined,
  { args, input = '' }: { args: readonly string[]; input?: string | undefined },
): string | undefined {
  if (isReader(args)) return undefined
  const found = folder && findLink(folder, namedRefs(args, input))
  return found && `${found} is a link or no ordinary file: git would write through it. Remove it: rm '${found}'`
}

/** Commands that only read, as far as they are called here: they take no optional locks. */
const READERS = new Set(
  'rev-parse rev-list for-each-ref show-ref cat-file log show diff diff-tree diff-index diff-files status ls-files ls-tree merge-base check-ignore check-attr var version'.split(
    ' ',
  ),
)

export function isReader([command = '', ...rest]: readonly string[]): boolean {
  if (command === 'config') return rest.some(arg => /^--(get|list)/.test(arg))
  if (command === 'symbolic-ref') return rest.filter(arg => !arg.startsWith('-')).length < 2
  return READERS.has(command) || (command === 'worktree' && rest[0] === 'list')
}

/** Refs that a call names: in full, or as the branch that it makes or deletes. */
function namedRefs(args: readonly string[], input: string): string[] {
  const branches = args.flatMap((arg, index) => (/^-[bBD]$/.test(args[index - 1] ?? '') ? [`refs/heads/${arg}`] : []))
  const full = args[0] === 'update-ref' ? [...args, ...input.split(/\s/)].filter(arg => arg.startsWith('refs/')) : []
  return [...branches, ...full]
}

function findLink(folder: GitFolder, refs: readonly string[]): string | undefined {
  const { own, common } = folder
  const isLegitimate = legitimateLinks(common)
  for (const path of own === common ? [] : [dirname(own), own]) if (!lookUpEntry(path)?.isDirectory()) return path
  const isWritten = (name: string) => own !== common || WRITTEN_IN_MAIN.test(name)
  const listed = [...listOdd(own, '.').filter(isWritten), ...OWN_FOLDERS.flatMap(name => listOdd(own, name))].map(
    path => join(own, path),
  )
  const objects = ['objects', 'objects/pack', 'objects/info'].flatMap(name =>
    listOdd(common, name).map(path => join(common, path)),
  )
  const head = readTargetOf(join(own, 'HEAD'))
  const named = [...refs, ...(head === undefined ? [] : [head])].flatMap(ref => listTargets(common, ref))
  const paths = named.flatMap(ref => [...steps(ref), ...steps(`logs/${ref}`)])
  const odd = [...new Set(paths)].map(path => join(common, path)).filter(isOdd)
  return [...listed, ...objects, ...odd].find(path => !isLegitimate(path))
}

/** In the main folder of a repository people link `hooks` or `description`; git writes only to these. */
const WRITTEN_IN_MAIN =
  /^([A-Z_]+|index|logs|refs|reftable|objects|packed-refs|worktrees|shallow|rebase-(merge|apply)|sequencer|rr-cache|pcc-.*)$/

/** Folders of one checkout into which git writes files of fixed names. */
const OWN_FOLDERS = [
  'logs',
  'refs',
  'refs/bisect',
  'refs/worktree',
  'refs/rewritten',
  'info',
  'rebase-merge',
  'rebase-apply',
  'sequencer',
]

/** Entries of a folder that are neither files nor folders. */
function listOdd(root: string, folder: string): string[] {
  return entriesOf(join(root, folder))
    .filter(entry => !entry.isFile() && !entry.isDirectory())
    .map(({ name }) => join(folder, name))
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return [] // it is missing, or no folder
  }
}

function isOdd(path: string): boolean {
  const stats = lookUpEntry(path)
  return stats !== undefined && !stats.isFile() && !stats.isDirectory()
}

/** `refs/heads/a` gives `refs`, `refs/heads` and `refs/heads/a`. */
function steps(path: string): string[] {
  const parts = path.split('/')
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'))
}

/** The ref, and those to which it leads: a ref may name another one, and git follows five of them. */
function listTargets(common: string, ref: string): string[] {
  const found = [ref]
  for (let next = readTargetOf(join(common, ref)); next && found.length < MOST_TARGETS; ) {
    found.push(next)
    next = readTargetOf(join(common, next))
  }
  return found
}

const MOST_TARGETS = 8

/** The ref that a file names; undefined for a link, which is refused, and for a commit. */
function readTargetOf(file: string): string | undefined {
  const text = readRegularFileNow(file, MOST_OF_REF, { follow: false })?.toString()
  return /^ref: (refs\/.+)\n?$/.exec(text ?? '')?.[1]
}

const MOST_OF_REF = 4_096

/**
 * Links that tools of people make. `git-new-workdir` and `repo` link whole folders to the same names in another repository; they
 * link `config` too, which no agent behind the wall can write. Old versions of git made HEAD a link to a branch.
 */
function legitimateLinks(common: string): (path: string) => boolean {
  const config = join(common, 'config')
  const shared = isOdd(config) ? dirname(realPathIfAny(config) ?? config) : undefined
  return path => {
    if (path === join(common, 'HEAD')) return leadsToBranch(path)
    if (shared === undefined || !path.startsWith(`${common}/`)) return false
    return realPathIfAny(path) === join(shared, path.slice(common.length + 1))
  }
}

function leadsToBranch(path: string): boolean {
  try {
    return /^refs\/heads\//.test(readlinkSync(path))
  } catch {
    return false // it is no link
  }
}
