import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Finding } from '../../domain/evidence.ts'
import type { Worktree } from '../../domain/worktree.ts'
import { nameWorkTree } from '../git/checkout-state.ts'
import { git } from '../git/git.ts'
import { findGitFolder, type GitFolder } from '../git/git-folder.ts'
import { committerEnv } from '../git/harden.ts'
import { noteGateMadeFiles, noteGatesStarted, readGateMadeFiles, wasInterruptedAt } from '../worktrees/worktree-note.ts'
import type { VerifiedTree } from './commit-leftovers.ts'

/** Looks after a tree from the first command to the last. */
export interface TreeWatch {
  /** After a command: what it changed is put back, what it made is remembered; both are told. */
  after(gate: string): Promise<Disturbance>
  /** After the last one. */
  end(): Promise<void>
}

/** Begins to look after what is looked at; undefined where it has no name. */
export async function watchTree(
  { folder, tree, commit }: VerifiedTree,
  worktree: Worktree | undefined,
): Promise<TreeWatch | undefined> {
  if (!folder || tree === null) return undefined
  const head = worktree && commit !== null ? { commit, branch: worktree.branch } : undefined
  const ref = `refs/pcc/kept/${worktree?.task ?? 'in-place'}`
  const keeper = await guardTree({ folder, tree, head, ref })
  const known = worktree ? await readGateMadeFiles(folder.top) : new Set<string>()
  if (commit !== null) await noteGatesStarted(folder.top, commit)
  let all: string[] | undefined
  return {
    async after(gate) {
      const found = await keeper(gate)
      const made = found.made.filter(path => !known.has(path))
      for (const path of made) known.add(path)
      all = found.made
      if (commit !== null && !found.isLost) await noteGateMadeFiles(folder.top, all, false)
      return { ...found, made }
    },
    async end() {
      if (commit !== null) await noteGateMadeFiles(folder.top, all ?? [...known], true)
    },
  }
}

/**
 * Puts a worktree back where we died while a command ran in it: what was changed since is the command's doing and not the
 * agent's, who has not had another turn.
 */
export async function restoreAfterInterruption(worktree: Worktree): Promise<void> {
  const folder = await findGitFolder(worktree.top)
  if (folder?.top !== worktree.top) return
  const named = await git(worktree.top, [
    'rev-parse',
    `refs/heads/${worktree.branch}^{commit}`,
    `refs/heads/${worktree.branch}^{tree}`,
  ])
  const [commit = '', tree = ''] = named.stdout.trim().split('\n')
  if (!named.ok || !(await wasInterruptedAt(folder.top, commit))) return
  const watch = await watchTree({ folder, tree, commit }, worktree)
  await watch?.after('a check that was interrupted')
  await watch?.end()
}

/** What a command did to the tree that it was to look at. */
export interface Disturbance {
  findings: Finding[]
  /** Files that it made and that are not ignored, from the top. They stay where they are. */
  made: string[]
  /** The tree is not what it was, and could not be made so again: nothing more can be said about it. */
  isLost: boolean
}

export interface GuardedTree {
  folder: GitFolder
  /** What lies there, committed or not. */
  tree: string
  /**
   * Of a worktree of ours: where HEAD stands. In a person's own checkout everything is left alone: who changed a file there while
   * a command ran, it or the person, nobody knows.
   */
  head?: { commit: string; branch: string } | undefined
  /** Where what is put back is kept, for whoever misses it. */
  ref: string
}

/** Looks after a tree while commands run in it: what they change is put back and told. */
async function guardTree(kept: GuardedTree): Promise<(gate: string) => Promise<Disturbance>> {
  const entry = join(kept.folder.top, '.git')
  const link = await readFile(entry, 'utf8').catch(() => undefined) // a directory, in a main checkout
  return async gate => {
    const lost = await restoreGitLink(kept, entry, link)
    if (lost !== undefined)
      return { findings: [blockingFinding('gate.git_gone', `${gate}: ${lost}`)], made: [], isLost: true }
    const moved = await restoreHead(kept, gate)
    const now = await nameWorkTree(kept.folder)
    if (now === undefined) {
      return {
        findings: [blockingFinding('gate.git_gone', `After ${gate} git cannot read the tree.`)],
        made: [],
        isLost: true,
      }
    }
    if (now === kept.tree) return { findings: moved, made: [], isLost: false }
    const { changed, made } = await compareTrees(kept, now)
    if (changed.length === 0) return { findings: moved, made, isLost: false }
    const back = kept.head === undefined || (await restoreFiles(kept, now, changed))
    const what = kept.head === undefined ? 'while it ran, files were changed' : 'it changed files'
    const after = kept.head === undefined ? '' : ' They were put back.'
    const told = `The command of ${gate}: ${what}: ${some(changed)}.${after}`
    const findings = [
      ...moved,
      ...changed.slice(0, MAX_NAMED_FILES).map(file => ({ ...blockingFinding('gate.changed_files', told), file })),
    ]
    return { findings, made, isLost: !back }
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
    return there ? undefined : `its command deleted ${folder.own}, which cannot be put back.`
  }
  if ((await readFile(entry, 'utf8').catch(() => '')) === link) return undefined
  const there = await stat(join(folder.own, 'HEAD')).catch(() => undefined)
  if (!there) return `its command deleted ${folder.own}, which cannot be put back.`
  return writeFile(entry, link).then(
    () => undefined,
    () => `its command took ${entry} away, which could not be put back.`,
  )
}

/** A command may have committed, or gone to another branch: that is none of the agent's work. */
async function restoreHead({ folder, head }: GuardedTree, gate: string): Promise<Finding[]> {
  if (!head) return []
  const ref = `refs/heads/${head.branch}`
  const [at, on] = await Promise.all([
    git(folder.top, ['rev-parse', '--verify', '--quiet', `${ref}^{commit}`]),
    git(folder.top, ['symbolic-ref', '--quiet', 'HEAD']),
  ])
  const isAt = at.stdout.trim() === head.commit
  const isOn = on.stdout.trim() === ref
  if (!isAt) await git(folder.top, ['update-ref', ref, head.commit])
  if (!isOn) await git(folder.top, ['symbolic-ref', 'HEAD', ref])
  const staged = await git(folder.top, ['diff-index', '--cached', '--quiet', head.commit, '--'])
  if (staged.code === 1) await git(folder.top, ['read-tree', head.commit])
  if (isAt && isOn) return []
  const text = `The command of ${gate} moved the branch to ${at.stdout.trim() || 'nothing'}; it was put back to ${head.commit}.`
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

/** Whether it lies there as before. What it was turned into is kept first: somebody may have worked there meanwhile. */
async function restoreFiles(kept: GuardedTree, now: string, changed: readonly string[]): Promise<boolean> {
  const { top } = kept.folder
  const env = await committerEnv(top)
  const copy = await git(top, ['commit-tree', now, '-m', 'what a gate found changed'], { env })
  if (copy.ok) await git(top, ['update-ref', kept.ref, copy.stdout.trim()])
  const from = ['--pathspec-from-file=-', '--pathspec-file-nul']
  const input = changed.join('\0')
  const restored = await git(top, ['restore', `--source=${kept.tree}`, '--worktree', ...from], { input })
  if (!restored.ok) return false
  const after = await nameWorkTree(kept.folder)
  return after !== undefined && (await compareTrees(kept, after)).changed.length === 0
}

function some(files: readonly string[]): string {
  const rest = files.length - MAX_NAMED_FILES
  return `${files.slice(0, MAX_NAMED_FILES).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}

function blockingFinding(code: string, text: string): Finding {
  return { code, weight: 'block', text }
}
