import { createHash } from 'node:crypto'
import { realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { readRegularFileNow } from '../../base/files.ts'
import { findProgram } from '../../base/process/find-program.ts'
import { INSTALLED, LOCK_FILES, MANAGED_PROGRAMS } from '../../domain/package-managers.ts'

/** Everything that the result of a command depends on, as far as it can be known. */
export interface ResultOf {
  tree: string
  command: string
  /** The directory of the command, relative to the top of the checkout. */
  inside: string
  /** The same directory as an absolute path. */
  directory: string
  env: Record<string, string>
  /** Whether it ran in the project itself, which nobody cleans before: what lies beside the tree there decides too. */
  isInPlace: boolean
  /** A result of the base is a list to compare with, green or not; it never replaces that of a gate. Nor does one with a changed test file. */
  purpose: 'gate' | 'base' | `end of ${string}`
}

/** A hash of all inputs: where any of them differs, so does the key. */
export function resultKey({ tree, command, inside, directory, env, isInPlace, purpose }: ResultOf): string {
  const parts = [
    VERSION,
    purpose,
    isInPlace,
    tree,
    command,
    inside,
    `${process.platform} ${process.arch}`,
    Object.entries(env).sort(),
    hashInstalled(directory),
    listToolchain(command, env, directory),
  ]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}

/** Raise this when the meaning of a result changes. */
const VERSION = 2

/** The installed packages may differ from the tree: lock files that git ignores, and notes that installers keep. */
const TELLING = [
  ...LOCK_FILES,
  'requirements.txt',
  ...[...INSTALLED].flatMap(([folder, records]) => records.map(name => join(folder, name))),
]

function hashInstalled(directory: string): string[] {
  return TELLING.map(name => {
    const content = readRegularFileNow(join(directory, name))
    return content === undefined ? '' : createHash('sha256').update(content).digest('hex')
  })
}

/** Programs that others start without naming them. */
const TOOLS = [...MANAGED_PROGRAMS, 'make', 'gcc', 'cc', 'g++', 'clang']

/** Files that select a version, where the program on the path is only a version manager's shim. */
const PICKED_BY = ['.pyenv/version', '.rustup/settings.toml', '.tool-versions', '.config/mise/config.toml', '.nvmrc']

/** Size and time of a program's file tell versions apart without starting it, which would take longer than everything else here. */
function listToolchain(command: string, env: Record<string, string>, directory: string): string[] {
  const words = command.split(/[\s;&|()'"]+/).filter(word => /^[\w./@+-]+$/.test(word))
  const programs = [...new Set([...words, ...TOOLS])].map(word => {
    const file = findProgram(word, env, directory)
    return file === undefined ? '' : fileIdentity(file)
  })
  const home = env['HOME']
  return [...programs, ...(home === undefined ? [] : PICKED_BY.map(name => fileIdentity(join(home, name))))]
}

function fileIdentity(file: string): string {
  try {
    const real = realpathSync(file)
    const { size, mtimeMs } = statSync(real)
    return `${real} ${size} ${mtimeMs}`
  } catch {
    return '' // not there
  }
}
