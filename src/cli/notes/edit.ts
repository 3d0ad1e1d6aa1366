import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AppError } from '../../base/errors.ts'
import type { Context } from '../context.ts'

/** Opens a file in the person's editor and waits for its end. */
export function openEditor(file: string, env: Context['env']): void {
  const editor = env['VISUAL'] || env['EDITOR'] || 'vi'
  // An editor may be named with options ("code --wait"): the shell splits it, and gets the file as a word of its own.
  const ended = spawnSync('/bin/sh', ['-c', `${editor} "$1"`, 'editor', file], { stdio: 'inherit' })
  if (ended.error) throw new AppError('editor_failed', { editor, file, problem: ended.error.message })
  if (ended.status !== 0)
    throw new AppError('editor_failed', { editor, file, problem: `it ended with ${ended.status ?? ended.signal}` })
}

/** Lets a person write a text; empty where they wrote nothing. */
export function writtenText(env: Context['env']): string {
  const directory = mkdtempSync(join(tmpdir(), 'pcc-note-'))
  const file = join(directory, 'note.md')
  try {
    writeFileSync(file, '')
    openEditor(file, env)
    return readFileSync(file, 'utf8')
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}
