import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { AppError } from '../../base/errors.ts'
import type { WorktreeView } from '../../domain/workspace/worktree-view.ts'
import { type Context, ExitCode } from '../context.ts'

/** Opens a shell in a worktree, or your editor on it; where nobody sits at a terminal its path is printed. */
export function openWorktree(worktree: WorktreeView, context: Context, how: { editor?: true; print?: true }): void {
  const { directory, task, state } = worktree
  if (!existsSync(directory))
    throw new AppError('worktree_not_so', { task, state: state === 'live' ? 'deleted' : state })
  const isSeen = process.stdin.isTTY && process.stdout.isTTY
  if (context.json || how.print || !isSeen) {
    context.out(context.json ? JSON.stringify({ task, directory }) : directory)
    return
  }
  const [program, args] = how.editor ? editorFor(context.env) : [context.env['SHELL'] || '/bin/sh', []]
  context.note(how.editor ? `Opening ${directory}` : `A shell in ${directory}; leave it with: exit`)
  const ended = spawnSync(program, args, { cwd: directory, stdio: 'inherit' })
  if (ended.error)
    throw new AppError('editor_failed', { editor: program, file: directory, problem: ended.error.message })
  if (how.editor && ended.status !== 0) throw new ExitCode(1)
}

/** It may be named with options ("code --wait"): the shell splits it. */
function editorFor(env: Context['env']): [string, string[]] {
  return ['/bin/sh', ['-c', `${env['VISUAL'] || env['EDITOR'] || 'vi'} .`]]
}
