import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bareEnv } from '../../test/support/world.ts'

/** A small git project in which tasks write notes. */
export interface NotesProject {
  path: string
  git(...args: string[]): string
  /** Resets it to its first commit. */
  reset(): void
}

export interface ProjectSize {
  /** Source files that are committed. */
  files?: number
  /** Files of 14,500 bytes in `node_modules`, which git ignores. */
  installed?: number
}

/** Makes one. */
export function notesProject(dir: string, { files = 0, installed = 0 }: ProjectSize = {}): NotesProject {
  const path = join(dir, 'project')
  mkdirSync(path)
  writeFileSync(join(path, 'README.md'), '# sample\n')
  if (installed > 0) writeFileSync(join(path, '.gitignore'), 'node_modules/\n')
  fill(path, 'src/part', files, index => `export const value${index} = ${index}\n`.repeat(40))
  const code = 'x'.repeat(14_500)
  fill(path, 'node_modules/package', installed, () => code)
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: path, env: bareEnv(dir), encoding: 'utf8', stdio: 'pipe' }).trim()
  git('init', '-q', '-b', 'main')
  git('config', 'user.name', 'Bench')
  git('config', 'user.email', 'bench@example.invalid')
  git('add', '-A')
  git('commit', '-qm', 'first')
  const first = git('rev-parse', 'HEAD')
  return {
    path,
    git,
    reset() {
      git('reset', '-q', '--hard', first)
      git('clean', '-fdq')
      rmSync(join(path, '.perpetualcc'), { recursive: true, force: true })
    },
  }
}

/** Writes files into folders of a hundred each. */
function fill(path: string, folder: string, count: number, textOf: (index: number) => string): void {
  for (let index = 0; index < count; index += 1) {
    const part = join(path, `${folder}-${Math.floor(index / 100)}`)
    if (index % 100 === 0) mkdirSync(part, { recursive: true })
    writeFileSync(join(part, `file-${index}.js`), textOf(index))
  }
}

/** The text of a task, by which the scripted model recognises it. */
export function taskOf(name: string): string {
  return `Write the note ${name}`
}

/** Matches the prompt or the brief of that task; a brief mentions other tasks too. */
export function onlyIn(name: string): { regex: string } {
  return { regex: `(?:^|## Your task: \\S+\\n\\n)${taskOf(name)}` }
}

/** Settings with a gate that does nothing, and without anything that calls a model. */
export const NO_OP_GATES = { PCC_GATES_TEST: 'true', PCC_GATES_VERIFIER: 'off', PCC_GATES_PROFILE: 'quick' }
