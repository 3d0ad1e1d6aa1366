import { existsSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { Place } from '../../../domain/workspace/place.ts'
import { committer } from '../../git/committer.ts'
import { git } from '../../git/git.ts'
import { findGitFolder, type GitFolder } from '../../git/git-folder.ts'
import { personal } from '../../git/personal.ts'
import { madeByGates } from '../../worktrees/notes/made-by-gates.ts'
import { lookAtHidden } from './hidden.ts'
import { type Refused, unfinished } from './unfinished.ts'

/** A tree with a name, or why there is none to look at. */
export type CommittedTree = { ok: true; commit: string; tree: string; folder: GitFolder } | Refused

/**
 * Commits on the branch of a place what its agent left uncommitted: what is looked at afterwards has a name, and nothing that
 * an agent made is lost. Our own note about the task is never part of it, nor what only a gate's command made.
 */
export async function commitLeftovers(place: Place, title = place.task): Promise<CommittedTree> {
  const folder = await findGitFolder(place.top)
  if (folder?.top !== place.top) return broken(`${place.top} is no git worktree any more.`)
  const open = await unfinished(place, folder)
  if (open) return open
  const staged = await stage(place, folder)
  if (staged !== undefined) return broken(`What was left in ${place.top} could not be put together: ${staged}`)
  const changed = await git(place.top, ['diff-index', '--cached', '--quiet', 'HEAD', '--'])
  if (changed.code === 1) {
    const message = `${title}\n\nLeft uncommitted by the agent of ${place.task}, attempt ${place.attempt}.`
    const env = await committer(place.top)
    const done = await git(place.top, ['commit', '--quiet', '--no-verify', '-m', message], { env })
    if (!done.ok) return broken(`git could not commit in ${place.top}: ${done.stderr.trim()}`)
  }
  const named = await git(place.top, ['rev-parse', 'HEAD^{commit}', 'HEAD^{tree}', '--show-toplevel'])
  const [commit = '', tree = '', top] = named.stdout.trim().split('\n')
  // Settings of a worktree can have git look at another directory than the one in which commands run.
  if (named.ok && top !== (await realpath(place.top))) return broken(`git takes ${top} for the files of ${place.top}.`)
  return named.ok ? { ok: true, commit, tree, folder } : broken(`git cannot name what is in ${place.top}.`)
}

/** Puts everything into the index that belongs into the commit; the problem, where that does not work. */
async function stage(place: Place, folder: GitFolder): Promise<string | undefined> {
  const hidden = await lookAtHidden(folder)
  if (hidden !== undefined) return hidden
  const tracked = await git(place.top, ['add', '--update', '--', '.'])
  if (!tracked.ok) return tracked.stderr.trim()
  const ignored = await personalIgnores(place.top)
  const listed = await git(place.top, ['ls-files', '--others', '--exclude-standard', ...ignored, '-z'])
  if (!listed.ok) return listed.stderr.trim()
  const notes = ownNotes(place)
  const made = await madeByGates(place.top)
  const mine = listed.stdout.split('\0').filter(path => path !== '' && !notes.includes(path) && !made.has(path))
  if (mine.length > 0) {
    const from = ['--pathspec-from-file=-', '--pathspec-file-nul']
    const added = await git(place.top, ['add', ...from], { input: mine.join('\0') })
    if (!added.ok) return added.stderr.trim()
  }
  // An agent may have added it by force, or in a commit of its own. A project may have one that is not ours.
  const before = await git(place.top, ['ls-tree', '--name-only', '-z', place.base, '--', ...notes])
  const ours = notes.filter(note => !before.stdout.split('\0').includes(note))
  const taken = await git(place.top, ['rm', '--cached', '--quiet', '--ignore-unmatch', '--', ...ours])
  return taken.ok || ours.length === 0 ? undefined : taken.stderr.trim()
}

/** What the person ignores everywhere (`.DS_Store`) is nobody's work. Their settings are otherwise out of git's way here. */
async function personalIgnores(top: string): Promise<string[]> {
  const { stdout } = await personal(top, ['config', '--global', '--path', '--get', 'core.excludesFile'])
  const { HOME: home = '/', XDG_CONFIG_HOME: xdg = join(home, '.config') } = process.env
  const file = stdout.trim() || join(xdg, 'git', 'ignore')
  return existsSync(file) ? [`--exclude-from=${file}`] : []
}

/** Where our note about the task lies, seen from the top. */
function ownNotes({ top, directory }: Place): string[] {
  const inside = relative(top, directory)
  const note = '.perpetualcc/task.json'
  return [...new Set([note, inside === '' ? note : `${inside}/${note}`])]
}

function broken(text: string): Refused {
  return { ok: false, weight: 'broken', finding: { code: 'git.broken', weight: 'block', text } }
}
