import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Worktree } from '../../../domain/workspace/place.ts'
import { committer } from '../../git/committer.ts'
import { type GitOptions, git } from '../../git/git.ts'
import { isOthersDoing } from '../../git/outlast-others.ts'
import { adminFolder } from '../genuine.ts'
import { refusal, told } from '../refusal.ts'
import { keepCommit } from './keep-commit.ts'
import type { Leftovers } from './leftovers.ts'

/**
 * Puts everything a worktree holds under one ref, and changes nothing in it: a commit of all its files, new ones included, whose
 * first parent is what was checked out; its branch, what was staged and its stashes are parents too, so that they stay.
 */
export async function archiveTree(row: Worktree, left: Leftovers): Promise<string> {
  const aside = await mkdtemp(join(tmpdir(), 'pcc-archive-'))
  try {
    const index = join(aside, 'index')
    const ask = asker(row, { env: { GIT_INDEX_FILE: index, ...(await committer(row.top)) } })
    await copyFile(join((await adminFolder(row)) ?? row.repository, 'index'), index)
    // In the middle of a conflict there is no tree of what is staged.
    const staged = await git(row.top, ['write-tree'], { env: { GIT_INDEX_FILE: index } })
    const tree = await treeOfEverything(left, ask)
    const headTree = (await ask(['rev-parse', `${left.head}^{tree}`])).trim()
    const isStaged = staged.ok && ![headTree, tree].includes(staged.stdout.trim())
    const tip = await git(row.top, ['rev-parse', '-q', '--verify', `refs/heads/${row.branch}^{commit}`])
    const parents = new Set([left.head, ...(tip.ok ? [tip.stdout.trim()] : []), ...left.stashes])
    if (isStaged)
      parents.add(await commit(ask, { tree: staged.stdout.trim(), parents: [left.head], says: 'pcc: what was staged' }))
    const says = `${ARCHIVED}${row.task}, attempt ${row.attempt}\n\nBranch: ${row.branch}\nTarget: ${row.target}\nBase: ${row.base}`
    return await keepCommit(row, await commit(ask, { tree, parents: [...parents], says }), row.top)
  } finally {
    await rm(aside, { recursive: true, force: true })
  }
}

/** How the message of an archive begins. */
export const ARCHIVED = 'pcc: worktree of '

type Ask = (args: string[], options?: GitOptions) => Promise<string>

async function treeOfEverything({ paths, hidden }: Leftovers, ask: Ask): Promise<string> {
  const list = (each: string[]) => each.map(path => `${path}\0`).join('')
  if (hidden.length > 0) {
    await ask(['update-index', '-z', '--no-assume-unchanged', '--stdin'], { input: list(hidden) })
    await ask(['update-index', '-z', '--no-skip-worktree', '--stdin'], { input: list(hidden) })
  }
  const all = [...paths, ...hidden]
  if (all.length > 0)
    await ask(['update-index', '-z', '--add', '--remove', '--replace', '--stdin'], { input: list(all) })
  return (await ask(['write-tree'])).trim()
}

async function commit(
  ask: Ask,
  { tree, parents, says }: { tree: string; parents: string[]; says: string },
): Promise<string> {
  const flags = parents.flatMap(parent => ['-p', parent])
  return (await ask(['commit-tree', tree, ...flags, '-F', '-'], { input: `${says}\n` })).trim()
}

function asker({ task, project, top }: Worktree, standing: GitOptions): Ask {
  return async (args, options) => {
    const result = await git(top, args, { ...standing, ...options, env: { ...standing.env, ...options?.env } })
    if (result.ok) return result.stdout
    const why = `its work could not be kept (git ${args[0]}: ${told(result.stderr)})`
    const remedy = `Nothing was removed. Mend what git says, then: pcc worktree archive ${task}`
    throw refusal({ task, project }, { why, remedy, passes: isOthersDoing(result.stderr) })
  }
}
