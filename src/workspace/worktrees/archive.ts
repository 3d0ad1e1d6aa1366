import { lstat, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { readRegularFile } from '../../base/files.ts'
import { encodeNames } from '../../base/names.ts'
import type { WorktreeRow } from '../../domain/worktree.ts'
import { readIndexFile, readIndexMarks } from '../git/checkout-state.ts'
import { type GitOptions, git, isRepositoryBusy } from '../git/git.ts'
import { committerEnv } from '../git/harden.ts'
import { readRefs } from '../git/refs.ts'
import { archiveCommit } from './repository.ts'
import { findAdminFolder, gitErrorLine, worktreeError } from './worktree.ts'

/** What a worktree holds that its target does not. */
export interface UnmergedWork {
  head: string
  /** Paths that are changed, staged, removed, in conflict, or new; ignored files are not among them. */
  paths: string[]
  /** Paths that git is told to treat as unchanged or not checked out, although they are on the disk: they may hold changes. */
  hidden: string[]
  /** Repositories inside the worktree, which a commit of this repository cannot hold. */
  repositories: string[]
  /** Commits of stashes that were made on the branch. */
  stashes: string[]
  /** The target contains all of the branch and of the checked-out commit. */
  isMerged: boolean
}

/**
 * Collects everything that would be lost with the worktree, usually with one call of git. Undefined if git cannot tell: then
 * nothing may be removed. `landed` is a commit that reached the target in another form.
 */
export async function readUnmergedWork(row: WorktreeRow, landed?: string): Promise<UnmergedWork | undefined> {
  const [status, marks, stashes] = await Promise.all([
    git(row.top, ['status', '--porcelain=v2', '-z', '--branch', '--no-renames', '--untracked-files=all']),
    findAdminFolder(row).then(own => readIndexMarks(row.top, own)),
    listStashes(row),
  ])
  if (!status.ok || !marks) return undefined
  const lines = status.stdout.split('\0')
  const head = lines.find(line => line.startsWith('# branch.oid '))?.slice('# branch.oid '.length) ?? ''
  const isMerged = await isInTarget(row, head, landed)
  if (isMerged === undefined) return undefined
  const changed = lines.flatMap(line => pathInStatus(line) ?? [])
  const inner = changed.filter(path => path.endsWith('/')).map(path => path.slice(0, -1))
  return {
    head,
    paths: changed.filter(path => !path.endsWith('/')),
    hidden: await existingPaths(row.top, marks.unseen),
    repositories: [...inner, ...(await existingPaths(row.top, marks.submodules, '.git'))],
    stashes,
    isMerged,
  }
}

/** `1 .M N... 100644 100644 100644 <oid> <oid> <path>`, `u` with two fields more, `? <path>`. */
function pathInStatus(line: string): string | undefined {
  if (line.startsWith('? ')) return line.slice(2)
  const fields = line.startsWith('1 ') ? 8 : line.startsWith('u ') ? 10 : 0
  return fields === 0 ? undefined : line.split(' ').slice(fields).join(' ')
}

async function existingPaths(top: string, paths: string[], below = ''): Promise<string[]> {
  const stats = await Promise.all(paths.map(path => lstat(encodeNames(join(top, path, below))).catch(() => undefined)))
  return paths.filter((_, index) => stats[index] !== undefined)
}

async function isInTarget(row: WorktreeRow, head: string, landed: string | undefined): Promise<boolean | undefined> {
  const [target, branch] = [`refs/heads/${row.target}`, `refs/heads/${row.branch}`]
  const tips = readRefs(row.repository, [target, branch])
  // Nothing was done, or the work was fast-forwarded: no history has to be walked.
  if (tips?.has(target) && head === tips.get(target) && (tips.get(branch) ?? head) === head) return true
  const merged = [target, ...(landed ? [landed] : [])]
  const listMissing = (...commits: string[]) => git(row.top, ['rev-list', '-1', ...commits, '--not', ...merged, '--'])
  const both = await listMissing('HEAD', branch)
  // The branch may have been deleted by hand.
  const missing = both.ok ? both : await listMissing('HEAD')
  // So may the target: then nothing is merged.
  if (!missing.ok) return (await git(row.top, ['rev-parse', '-q', '--verify', 'HEAD'])).ok ? false : undefined
  return missing.stdout.trim() === ''
}

/** Stashes belong to the whole repository; the message of each says on which branch it was made. */
async function listStashes({ repository, branch, top }: WorktreeRow): Promise<string[]> {
  const file = (await readRegularFile(join(repository, 'logs', 'refs', 'stash')).catch(() => '')).toString()
  const isOurs = (message: string) => /^(WIP on|On) /.test(message) && message.includes(` ${branch}: `)
  if (file !== '') {
    const lines = file.split('\n').map(line => line.split('\t'))
    return lines.flatMap(([who = '', message = '']) => (isOurs(message) ? [who.split(' ')[1] ?? ''] : []))
  }
  const reftable = await lstat(join(repository, 'reftable')).catch(() => undefined)
  if (!reftable) return []
  const { stdout } = await git(top, ['log', '-g', '--format=%H%x09%gs', 'refs/stash', '--'])
  return stdout.split('\n').flatMap(line => (isOurs(line.split('\t')[1] ?? '') ? [line.split('\t')[0] ?? ''] : []))
}

/**
 * Puts everything that a worktree holds under one ref, and changes nothing in it. The ref is a commit of all files, new ones
 * included. Its first parent is the checked-out commit; the branch, a commit of the index and the stashes are further parents,
 * so that they are kept too.
 */
export async function archiveWorktree(row: WorktreeRow, left: UnmergedWork): Promise<string> {
  const aside = await mkdtemp(join(tmpdir(), 'pcc-archive-'))
  try {
    const index = join(aside, 'index')
    const ask = openAsk(row, { env: { GIT_INDEX_FILE: index, ...(await committerEnv(row.top)) } })
    await writeFile(index, await readIndexFile((await findAdminFolder(row)) ?? row.repository))
    // During a conflict the index cannot be written as a tree.
    const staged = await git(row.top, ['write-tree'], { env: { GIT_INDEX_FILE: index } })
    const tree = await writeFullTree(row.top, left, ask)
    const headTree = (await ask(['rev-parse', `${left.head}^{tree}`])).trim()
    const isStaged = staged.ok && ![headTree, tree].includes(staged.stdout.trim())
    const tip = await git(row.top, ['rev-parse', '-q', '--verify', `refs/heads/${row.branch}^{commit}`])
    const parents = new Set([left.head, ...(tip.ok ? [tip.stdout.trim()] : []), ...left.stashes])
    if (isStaged)
      parents.add(
        await commit(ask, { tree: staged.stdout.trim(), parents: [left.head], message: 'pcc: what was staged' }),
      )
    const message = `${ARCHIVE_SUBJECT}${row.task}, attempt ${row.attempt}\n\nBranch: ${row.branch}\nTarget: ${row.target}\nBase: ${row.base}`
    return await archiveCommit(row, await commit(ask, { tree, parents: [...parents], message }), row.top)
  } finally {
    await rm(aside, { recursive: true, force: true })
  }
}

/** The beginning of an archive commit's message. `readArchivedHead` knows stored archives by it, so it stays as it is. */
export const ARCHIVE_SUBJECT = 'pcc: worktree of '

/** Runs git and returns its output; throws where it fails. */
type Ask = (args: string[], options?: GitOptions) => Promise<string>

async function writeFullTree(top: string, { paths, hidden }: UnmergedWork, ask: Ask): Promise<string> {
  const list = (names: string[]) => names.map(path => `${path}\0`).join('')
  if (hidden.length > 0) {
    await ask(['update-index', '-z', '--no-assume-unchanged', '--stdin'], { input: list(hidden) })
    await ask(['update-index', '-z', '--no-skip-worktree', '--stdin'], { input: list(hidden) })
  }
  const behindLinks = await findBehindLinks(top, [...paths, ...hidden])
  const all = [...paths, ...hidden].filter(path => !behindLinks.has(path))
  if (behindLinks.size > 0)
    await ask(['update-index', '-z', '--force-remove', '--stdin'], { input: list([...behindLinks]) })
  if (all.length > 0)
    await ask(['update-index', '-z', '--add', '--remove', '--replace', '--stdin'], { input: list(all) })
  return (await ask(['write-tree'])).trim()
}

/** Paths of files that are gone because a link has taken the place of a folder above them: git refuses to look at those. */
async function findBehindLinks(top: string, paths: readonly string[]): Promise<Set<string>> {
  const known = new Map<string, Promise<boolean>>([['.', Promise.resolve(false)]])
  const isBehind = (folder: string): Promise<boolean> => {
    const isKnown = known.get(folder)
    if (isKnown) return isKnown
    const isLink = async () =>
      (await lstat(encodeNames(join(top, folder))).catch(() => undefined))?.isSymbolicLink() ?? false
    const found = isBehind(dirname(folder)).then(isAbove => isAbove || isLink())
    known.set(folder, found)
    return found
  }
  const areBehind = await Promise.all(paths.map(path => isBehind(dirname(path))))
  return new Set(paths.filter((_, index) => areBehind[index]))
}

async function commit(
  ask: Ask,
  { tree, parents, message }: { tree: string; parents: string[]; message: string },
): Promise<string> {
  const flags = parents.flatMap(parent => ['-p', parent])
  return (await ask(['commit-tree', tree, ...flags, '-F', '-'], { input: `${message}\n` })).trim()
}

function openAsk({ task, project, top }: WorktreeRow, defaults: GitOptions): Ask {
  return async (args, options) => {
    const result = await git(top, args, { ...defaults, ...options, env: { ...defaults.env, ...options?.env } })
    if (result.ok) return result.stdout
    const why = `its work could not be kept (git ${args[0]}: ${gitErrorLine(result.stderr)})`
    const remedy = `Nothing was removed. Mend what git says, then: pcc worktree archive ${task}`
    throw worktreeError({ task, project }, { why, remedy, passes: isRepositoryBusy(result.stderr) })
  }
}
