import { basename, isAbsolute, resolve } from 'node:path'
import { AppError } from '../../base/errors.ts'
import { splitWords } from '../../base/text/split-words.ts'

/** A command line that somebody said. */
export interface Said {
  text: string
  /** `--agent`, a variable, or a file with its line. */
  origin: string
  /** Where a relative path begins. */
  directory?: string | undefined
}

/**
 * The words of a command line, its program first. Whatever they name by a path is named by a whole one: a relative path would lead into
 * whichever worktree the agent works in, where an agent may have written it. What is looked for there in another way is refused.
 */
export function commandWords(said: Said): [string, ...string[]] {
  const split = splitWords(said.text)
  if ('problem' in split) throw malformed(said, split.problem)
  const [program = '', ...rest] = split.words
  if (program === '') throw malformed(said, 'it names no program')
  if (/^[A-Za-z_]\w*=/.test(program))
    throw malformed(said, `${program.split('=')[0]} is set before the program, and variables travel by agents.env`)
  const problem = foundAnywhere(basename(program), rest)
  if (problem !== undefined) throw malformed(said, problem)
  const isScript = (at: number, word: string) => at === 0 && INTERPRETER.test(basename(program)) && !/^[-@]/.test(word)
  return [
    whole(program, program.includes('/'), said),
    ...rest.map((word, at) => whole(word, isScript(at, word) || isFile(word), said)),
  ]
}

/** A word that an interpreter takes for a file: by its slash or by its ending. Packages (`@scope/name`) and addresses are none. */
export function isFile(word: string): boolean {
  if (/^[-@]|:\/\//.test(word)) return false
  return word.includes('/') || /\.([cm]?[jt]sx?|py|rb|pl|php|lua|sh|bash|jar|wasm)$/i.test(word)
}

/** Whether a program is an interpreter of Python. */
export function isPython(program: string): boolean {
  return /^(python|pypy)[\d.]*$/.test(program)
}

/** The error of a command line that is not understood. */
export function malformed({ text: agent, origin }: Said, problem: string): AppError<'agent_malformed'> {
  return new AppError('agent_malformed', { agent, origin, problem })
}

/** The first word behind one of these is a file, whatever its name. */
const INTERPRETER = /^(node|tsx|ruby|perl|php|lua|bash|dash|sh|zsh|(python|pypy)[\d.]*)$/

/** What the program would look for in the directory in which it is started. */
function foundAnywhere(program: string, words: readonly string[]): string | undefined {
  if (isPython(program)) return pythonProblem(program, words)
  return program === 'node' ? nodeProblem(words) : undefined
}

/** A module that it loads before the script; what stands behind the script is the script's own. */
function nodeProblem(words: readonly string[]): string | undefined {
  const script = words[0]?.startsWith('-') ? words.findIndex(isFile) : 0
  const own = script < 0 ? words : words.slice(0, script)
  const loads = own.findIndex(word => /^(-r|--require|--import|--loader|--experimental-loader)(=|$)/.test(word))
  if (loads < 0) return undefined
  const [flag = '', inline] = (words[loads] ?? '').split(/=(.*)/s)
  const name = inline ?? words[loads + 1] ?? ''
  if (/^(\.|\/|\w+:)/.test(name)) return undefined
  return `node looks for ${name || 'what it loads'} (${flag}) in the folder that the agent works in, where an agent may have put it; name it by its whole path`
}

/** With `-m` and `-c` the directory in which it is started comes first, unless `-P` or `-I` stands before. */
function pythonProblem(program: string, words: readonly string[]): string | undefined {
  let isSafe = false
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? ''
    if (!word.startsWith('-')) return undefined
    const letters = word.startsWith('--') ? '' : word.slice(1)
    const last = /[cmWX]/.exec(letters)
    isSafe ||= /[IP]/.test(letters.slice(0, last?.index))
    if (last?.[0] === 'm' || last?.[0] === 'c') return isSafe ? undefined : unsafePython(program, last[0])
    // A value that is not written to its option is the next word.
    if (last && last.index === letters.length - 1) at++
  }
  return undefined
}

function unsafePython(program: string, flag: string): string {
  return `${program} -${flag} takes modules from the folder that the agent works in first, where an agent may have put them; write ${program} -P -${flag} (Python 3.11 and later), or name the program that the package installs`
}

function whole(word: string, isPath: boolean, said: Said): string {
  if (/^-[^=]*=\.{0,2}[^/]*\//.test(word) && !/=\/|:\/\//.test(word))
    throw malformed(said, `the path in ${word} is not a whole one`)
  if (!isPath || isAbsolute(word)) return word
  if (said.directory === undefined) throw malformed(said, `the path ${word} is not a whole one`)
  return resolve(said.directory, word)
}
