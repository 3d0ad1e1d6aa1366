import { accessSync, constants, mkdirSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { AppError, messageOf } from '../../../base/errors.ts'
import { replaceFile } from '../../../base/files/replace-file.ts'
import type { Step } from './step.ts'
import { nearestFolder } from './thing-at.ts'

/** Does what was planned, all of it or nothing: where one fails, what was done before it is undone. */
export function applySteps(project: string, steps: readonly Step[]): void {
  const work = steps.filter(({ does }) => does === 'create' || does === 'change')
  for (const { path } of work) refuseUnwritable(project, nearestFolder(project, path.replace(/\/$/, '')))
  const undo: (() => void)[] = []
  try {
    for (const step of work) carryOut(join(project, step.path), step, undo)
  } catch (thrown) {
    for (const back of undo.reverse()) asFarAsPossible(back)
    throw notWritable(project, thrown)
  }
}

function carryOut(at: string, { path, does, content = '', before = '' }: Step, undo: (() => void)[]): void {
  if (path.endsWith('/')) {
    makeFolder(at.slice(0, -1), undo)
    return
  }
  if (does === 'change') {
    const mode = statSync(at).mode & 0o777
    replaceFile(at, content, mode)
    undo.push(() => {
      if (readFileSync(at, 'utf8') === content) replaceFile(at, before, mode)
    })
    return
  }
  makeFolder(dirname(at), undo)
  // Exclusive: what somebody made in the meantime is theirs.
  writeFileSync(at, content, { flag: 'wx' })
  undo.push(() => rmSync(at, { force: true }))
}

/** What somebody else put into a folder of ours in the meantime stays, and the folder with it. */
function asFarAsPossible(back: () => void): void {
  try {
    back()
  } catch {
    // what failed first is told
  }
}

function makeFolder(at: string, undo: (() => void)[]): void {
  const found = statSync(at, { throwIfNoEntry: false })
  if (found?.isDirectory()) return
  if (!found) makeFolder(dirname(at), undo)
  mkdirSync(at)
  undo.push(() => rmdirSync(at))
}

function refuseUnwritable(project: string, folder: string): void {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
  } catch (thrown) {
    throw notWritable(folder === project ? project : folder, thrown)
  }
}

function notWritable(path: string, thrown: unknown): AppError {
  return new AppError('project_not_writable', { path, problem: plainly(thrown) }, thrown)
}

/** `EACCES: permission denied, access '/x'` as a person would say it. */
function plainly(thrown: unknown): string {
  return messageOf(thrown)
    .replace(/^E[A-Z]+: /, '')
    .replace(/, \w+ '.*'$/, '')
}
