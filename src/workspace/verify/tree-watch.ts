import { existsSync } from 'node:fs'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readRegularFile, readTextIfAny } from '../../base/files.ts'
import { copyInside, removeInside, writeInside } from '../../base/real-folder.ts'
import type { Finding } from '../../domain/evidence.ts'
import type { Worktree } from '../../domain/worktree.ts'
import type { HashedObjects } from '../git/check-objects.ts'
import { nameWorkTree, openFreshIndex } from '../git/checkout-state.ts'
import { git } from '../git/git.ts'
import { findGitFolder, type GitFolder } from '../git/git-folder.ts'
import { committerEnv, readRepositorySettings } from '../git/harden.ts'
import {
  noteGateMadeFiles,
  noteGatesStarted,
  readGateMadeFiles,
  readInterruptedCommit,
  readNote,
} from '../worktrees/worktree-note.ts'
import type { VerifiedTree } from './commit-leftovers.ts'

/** Protects a tree from the first gate command to the last. */
export interface TreeWatch {
  /** Called after a command: its changes are undone, files that it made are noted, and both are reported. */
  after(gate: string): Promise<Disturbance>
  /** Called after the last command. */
  end(): Promise<void>
}

/** Starts to protect the verified tree; undefined without git. */
export async function watchTree(
  { folder, tree, commit }: VerifiedTree,
  worktree: Worktree | undefined,
): Promise<TreeWatch | undefined> {
  if (!folder || tree === null) return undefined
  const head = worktree && commit !== null ? { commit, branch: worktree.branch } : undefined
  const ref = `refs/pcc/kept/${worktree?.task ?? 'in-place'}`
  const guard = await guardTree({ folder, tree, head, ref })
  const known = worktree ? await readGateMadeFiles(folder.top) : new Set<string>()
  if (commit !== null) await noteGatesStarted(folder.top, commit)
  let all: string[] | undefined
  return {
    async after(gate) {
      const disturbance = await guard(gate)
      const made = disturbance.made.filter(path => !known.has(path))
      for (const path of made) known.add(path)
      all = disturbance.made
      if (commit !== null && !disturbance.isLost) await noteGateMadeFiles(folder.top, all, false)
      return { ...disturbance, made }
    },
    async end() {
      if (commit !== null) await noteGateMadeFiles(folder.top, all ?? [...known], true)
    },
  }
}

/**
 * Restores a worktree if the daemon died while a gate command ran in it: changes since then were made by the command and not by
 * the agent, which has not had another turn.
 */
export async function restoreAfterInterruption(worktree: Worktree): Promise<void> {
  const folder = await findGitFolder(worktree.top)
  const looked = folder?.top === worktree.top ? await readInterruptedCommit(folder.top) : null
  if (!folder || looked === null) return
  const named = await git(worktree.top, [
    'rev-parse',
    `refs/heads/${worktree.branch}^{commit}`,
    `refs/heads/${worktree.branch}^{tree}`,
  ])
  const [commit = '', tree = ''] = named.stdout.trim().split('\n')
  if (!named.ok || commit !== looked) return
  const watch = await watchTree({ folder, tree, commit }, worktree)
  await watch?.after('a check that was interrupted')
  await watch?.end()
}

/**
 * Writes files as a checkout of the commit would have them where they differ, before the first command. By attributes and settings git
 * changes the ends of lines, the encoding and what is between `$Id` and `$` as it stores a file: gates would run what no commit has, and no tree
 * shows it. Returns their paths, or why git cannot tell. Hardly any file is looked at twice where no line ends in a carriage return.
 */
export async function restoreConverted(
  folder: GitFolder,
  { hasAttributes, objects }: { hasAttributes: boolean; objects: HashedObjects | undefined },
): Promise<string[] | string> {
  const { top, common } = folder
  // Hardly any repository has such settings: reading its files saves asking git, which is asked where they cannot be read.
  const text = await readRepositorySettings(folder).catch(() => 'eol')
  const asksGit = /autocrlf|eol|\[\s*include/i.test(text)
  const settings = asksGit ? (await git(top, ['config', '--get-regexp', '^core\\.(autocrlf|eol)$'])).stdout : ''
  const isUsual = settings === '' && !hasAttributes && !existsSync(join(common, 'info/attributes'))
  if (isUsual && (await readNote(top)).sparse === null) return []
  const listed = await git(top, ['ls-files', '--eol', '-z'], { maxBytes: MOST_BYTES })
  const lines = listed.stdout.split('\0').filter(line => line !== '')
  const input = lines.map(line => `${line.slice(line.indexOf('\t') + 1)}\0`).join('')
  const asked = ['check-attr', '-z', '--stdin', 'ident', 'working-tree-encoding']
  const attributes = listed.ok ? await git(top, asked, { input, maxBytes: MOST_BYTES }) : listed
  if (!attributes.ok) return attributes.stderr.trim()
  const fields = attributes.stdout.split('\0')
  const marked = new Set(fields.filter((_, at) => at % 3 === 0 && !/^un(set|specified)$/.test(fields[at + 2] ?? '')))
  const converted = lines.flatMap(line => {
    const [, ends = '', attribute = '', path = ''] = /^\S+ +w\/(\S*) +attr\/([^\t]*)\t(.+)$/s.exec(line) ?? []
    const isText = attribute.trim() !== '' && !attribute.startsWith('-text')
    // Where git decides by itself what is text, it leaves the rest as it is.
    const isSame = /^(lf|none)$/.test(ends) || (ends === '-text' && attribute.startsWith('text=auto'))
    const changesEnds = isText && (attribute.includes('eol=crlf') || !isSame)
    return changesEnds || settings !== '' || marked.has(path) ? [path] : []
  })
  return converted.length === 0 ? [] : writeAsCheckedOut(top, converted, objects)
}

async function writeAsCheckedOut(
  top: string,
  paths: readonly string[],
  env: HashedObjects | undefined,
): Promise<string[] | string> {
  const scratch = await mkdtemp(join(tmpdir(), 'pcc-checkout-'))
  const files = join(scratch, 'files')
  try {
    const args = ['checkout-index', '--force', `--prefix=${files}/`, '-z', '--stdin']
    const made = await git(top, args, { env, input: paths.join('\0') })
    if (!made.ok) return made.stderr.trim()
    const read = (root: string, path: string) =>
      readRegularFile(join(root, path), MOST_BYTES, { follow: false }).catch(() => undefined)
    const written: string[] = []
    for (const path of paths) {
      const [wanted, now] = [await read(files, path), await read(top, path)]
      if (!wanted || !now || now.equals(wanted)) continue
      await removeInside(top, path)
      await copyInside({ root: files, path }, { root: top, path })
      written.push(path)
    }
    return written
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

/** The lists of a very large repository, and its largest file. */
const MOST_BYTES = 2_000_000_000

/** What a command did to the tree that it was to check. */
export interface Disturbance {
  findings: Finding[]
  /** Files that it made and that are not ignored, as paths from the top. They stay where they are. */
  made: string[]
  /** The tree was changed and could not be restored: no further gate can be trusted. */
  isLost: boolean
}

export interface GuardedTree {
  folder: GitFolder
  /** The tree of all files, committed or not. */
  tree: string
  /**
   * The HEAD of a worktree of ours. In a person's own checkout nothing is restored: it is unknown whether the command or the
   * person changed a file while the command ran.
   */
  head?: { commit: string; branch: string } | undefined
  /** The ref under which changed files are saved before they are restored, in case somebody misses them. */
  ref: string
}

/** Protects a tree while commands run in it: their changes are undone and reported. */
async function guardTree(guarded: GuardedTree): Promise<(gate: string) => Promise<Disturbance>> {
  const entry = join(guarded.folder.top, '.git')
  const link = await readTextIfAny(entry).catch(() => undefined) // in a main checkout it is a directory
  return async gate => {
    const lost = await restoreGitLink(guarded, entry, link)
    if (lost !== undefined)
      return { findings: [blockingFinding('gate.git_gone', `${gate}: ${lost}`)], made: [], isLost: true }
    // Nearly always nothing has moved. What has is put back first, and then the files are looked at once more.
    const [state, seen] = await Promise.all([readHead(guarded), nameWorkTree(guarded.folder)])
    const moved = await restoreHead(guarded, state, gate)
    const now = isInPlace(state) ? seen : await nameWorkTree(guarded.folder)
    if (now === undefined) {
      return {
        findings: [blockingFinding('gate.git_gone', `After ${gate} git cannot read the tree.`)],
        made: [],
        isLost: true,
      }
    }
    if (now === guarded.tree) return { findings: moved, made: [], isLost: false }
    const { changed, made } = await compareTrees(guarded, now)
    if (changed.length === 0) return { findings: moved, made, isLost: false }
    const isRestored = guarded.head === undefined || (await restoreFiles(guarded, now, changed))
    const what = guarded.head === undefined ? 'while it ran, files were changed' : 'it changed files'
    const after = guarded.head === undefined ? '' : isRestored ? ' They were restored.' : ' They could not be restored.'
    const text = `The command of ${gate}: ${what}: ${nameSome(changed)}.${after}`
    const findings = [
      ...moved,
      ...changed.slice(0, MAX_NAMED_FILES).map(file => ({ ...blockingFinding('gate.changed_files', text), file })),
    ]
    return { findings, made, isLost: !isRestored }
  }
}

const MAX_NAMED_FILES = 5

async function restoreGitLink(
  { folder }: GuardedTree,
  entry: string,
  link: string | undefined,
): Promise<string | undefined> {
  if (link === undefined) {
    const there = await stat(join(folder.own, 'HEAD')).catch(() => undefined)
    return there ? undefined : `its command deleted ${folder.own}, which cannot be restored.`
  }
  if ((await readRegularFile(entry).catch(() => '')).toString() === link) return undefined
  const there = await stat(join(folder.own, 'HEAD')).catch(() => undefined)
  if (!there) return `its command deleted ${folder.own}, which cannot be restored.`
  const isWritten = await writeInside(folder.top, '.git', link).catch(() => false)
  return isWritten ? undefined : `its command removed ${entry}, which could not be restored.`
}

interface HeadState {
  /** What the branch is at. */
  at: string
  isAtCommit: boolean
  isOnBranch: boolean
  isIndexThere: boolean
}

/** Where the HEAD of a worktree of ours is; undefined in a person's own checkout. */
async function readHead({ folder, head }: GuardedTree): Promise<HeadState | undefined> {
  if (!head) return undefined
  const ref = `refs/heads/${head.branch}`
  const [tip, on, staged] = await Promise.all([
    git(folder.top, ['rev-parse', '--verify', '--quiet', `${ref}^{commit}`]),
    git(folder.top, ['symbolic-ref', '--quiet', 'HEAD']),
    git(folder.top, ['diff-index', '--cached', '--quiet', head.commit, '--']),
  ])
  const at = tip.stdout.trim()
  return {
    ...{ at, isAtCommit: at === head.commit, isOnBranch: on.stdout.trim() === ref },
    isIndexThere: staged.code !== 1,
  }
}

function isInPlace(state: HeadState | undefined): boolean {
  return !state || (state.isAtCommit && state.isOnBranch && state.isIndexThere)
}

/** A command may have committed, or switched to another branch: that is not the agent's work. */
async function restoreHead(
  { folder, head }: GuardedTree,
  state: HeadState | undefined,
  gate: string,
): Promise<Finding[]> {
  if (!head || !state) return []
  const ref = `refs/heads/${head.branch}`
  if (!state.isAtCommit) await git(folder.top, ['update-ref', ref, head.commit])
  if (!state.isOnBranch) await git(folder.top, ['symbolic-ref', 'HEAD', ref])
  if (!state.isIndexThere) await git(folder.top, ['read-tree', head.commit])
  if (state.isAtCommit && state.isOnBranch) return []
  const text = `The command of ${gate} moved the branch to ${state.at || 'nothing'}; it was moved back to ${head.commit}.`
  return [blockingFinding('gate.moved_branch', text)]
}

async function compareTrees(
  { folder, tree }: GuardedTree,
  now: string,
): Promise<{ changed: string[]; made: string[] }> {
  const { stdout } = await git(folder.top, ['diff-tree', '-r', '-z', '--no-renames', '--name-status', tree, now])
  const fields = stdout.split('\0')
  const changed: string[] = []
  const made: string[] = []
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const path = fields[at + 1] ?? ''
    if (fields[at] === 'A') made.push(path)
    else changed.push(path)
  }
  return { changed, made }
}

/** Restores changed files; false if that fails. The changed versions are saved first: somebody may have worked there. */
async function restoreFiles(guarded: GuardedTree, now: string, changed: readonly string[]): Promise<boolean> {
  const { top } = guarded.folder
  const env = await committerEnv(top)
  const copy = await git(top, ['commit-tree', now, '-m', 'files that a gate command changed'], { env })
  if (copy.ok) await git(top, ['update-ref', guarded.ref, copy.stdout.trim()])
  const from = ['--pathspec-from-file=-', '--pathspec-file-nul']
  const input = changed.join('\0')
  // By the checkout's own index, which the command may have written, a changed file could pass for one that is restored already.
  await using index = await openFreshIndex(guarded.folder)
  const args = ['restore', `--source=${guarded.tree}`, '--worktree', ...from]
  const restored = await git(top, args, { env: index.env, input })
  if (!restored.ok) return false
  const after = await nameWorkTree(guarded.folder)
  return after !== undefined && (await compareTrees(guarded, after)).changed.length === 0
}

function nameSome(files: readonly string[]): string {
  const rest = files.length - MAX_NAMED_FILES
  return `${files.slice(0, MAX_NAMED_FILES).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}

export function blockingFinding(code: string, text: string): Finding {
  return { code, weight: 'block', text }
}
