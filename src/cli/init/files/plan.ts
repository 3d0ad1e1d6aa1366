import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { IGNORE_LINES, withIgnoreLines } from './git-ignore.ts'
import { isUntouched } from './stamp.ts'
import type { Step, WantedFile } from './step.ts'
import { thingAt } from './thing-at.ts'

interface Wanted {
  /** Files, and folders by their path. */
  things: readonly (WantedFile | string)[]
  /** There is a git that would heed a `.gitignore`. */
  ignore: boolean
}

/** Decides what is made and what is left, and touches nothing. A person's file is never replaced. */
export function planSteps(project: string, { things, ignore }: Wanted): Step[] {
  return [
    ...things.map(each => (typeof each === 'string' ? folderStep(project, each) : fileStep(project, each))),
    ...(ignore ? [ignoreStep(project)] : []),
  ]
}

function folderStep(project: string, path: string): Step {
  const there = thingAt(project, path)
  if (there.kind === 'nothing') return { path: `${path}/`, does: 'create' }
  if (there.kind === 'folder') return { path: `${path}/`, does: 'keep' }
  return { path: `${path}/`, does: 'leave', why: there.kind === 'barred' ? there.why : 'a file has this name' }
}

function fileStep(project: string, { path, content }: WantedFile): Step {
  const there = thingAt(project, path)
  if (there.kind === 'nothing') return { path, does: 'create', content }
  if (there.kind === 'barred') return { path, does: 'leave', why: there.why }
  if (there.kind === 'folder') return { path, does: 'leave', why: 'a folder has this name' }
  const before = textOf(join(project, path))
  if (before === undefined) return { path, does: 'keep', why: 'it is yours, and not text' }
  if (before.replaceAll('\r\n', '\n') === content) return { path, does: 'keep' }
  if (!isUntouched(before)) return { path, does: 'keep', why: 'it is yours' }
  if (there.isLink) return { path, does: 'keep', why: 'it is a link' }
  const fresh = before.includes('\r\n') ? content.replaceAll('\n', '\r\n') : content
  return { path, does: 'change', why: 'nobody had changed it, and there is news', content: fresh, before }
}

function ignoreStep(project: string): Step {
  const path = '.gitignore'
  const there = thingAt(project, path)
  if (there.kind === 'barred') return { path, does: 'leave', why: there.why }
  if (there.kind === 'folder') return { path, does: 'leave', why: 'a folder has this name' }
  if (there.kind === 'file' && there.isLink) return { path, does: 'leave', why: 'git does not follow it: it is a link' }
  const before = there.kind === 'nothing' ? undefined : textOf(join(project, path))
  if (there.kind === 'file' && before === undefined) return { path, does: 'leave', why: 'it cannot be read as text' }
  const edit = withIgnoreLines(before)
  if ('kept' in edit) return { path, does: 'keep', why: edit.kept }
  if (before === undefined) return { path, does: 'create', content: edit.text }
  const count = IGNORE_LINES.length
  return { path, does: 'change', why: `${count} lines at its end`, content: edit.text, before }
}

/** The text of a file, if it is one. */
function textOf(path: string): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(path))
  } catch {
    return undefined // whatever it is, it stays
  }
}
