import type { Piece } from '../../domain/assessment.ts'
import type { Risk } from '../../domain/session.ts'
import { type Fence, locatePath } from '../paths/fence.ts'
import type { Access } from '../paths/judge-path.ts'
import { type Arg, HOLE } from '../shell/args.ts'
import { bindVariable, expandText, expandWords } from '../shell/expand.ts'
import { noteFolder, type Scope } from '../shell/scope.ts'
import type { ShellNode } from '../shell/tree.ts'
import { addPiece, addReason } from './assessment-tree.ts'
import { judgeAssignment } from './environment.ts'
import { judgeFile, judgeSecret } from './judge-file.ts'

/** What a program is fed on standard input, if that is not the agent's own. */
export interface StandardInput {
  /** Bytes of another program. */
  piped: boolean
  /** The text of a here-document or here-string, or the file of `<`. */
  text?: Arg
  file?: Arg
  /** What stands before it in the pipe, the first first. */
  upstream?: readonly Upstream[]
}

/** A program about to run: who, with what, fed how. Rules look at it and say what they see. */
export interface ProgramCall {
  /** Base name, lower case as the table has it. */
  name: string
  head: Arg
  args: Arg[]
  feed: StandardInput
  scope: Scope
  fence: Fence
  /** The shell itself looks for it, so that a function of that name counts. */
  direct: boolean
  /** Adds a reason; `at` is the word it is about, the program's own when left out. */
  say(code: string, risk: Risk, text: string, at?: Arg): undefined
  /** Judges a word as a path; a hole is unknown. Says nothing for a LOW one. */
  path(arg: Arg, access: Access): undefined
  /** Says something only if the word is the path of a secret. */
  secret(arg: Arg): undefined
  /** Judges words as a command of their own, in this place. */
  run(args: readonly Arg[]): undefined
  /** The shell sets a variable from here on (`export A=1`). */
  set(name: string, value: Arg, at: Arg): undefined
  /** The shell goes to another folder. */
  move(path: string): undefined
  /** Judges a text that a shell will read. */
  shell(script: Arg): undefined
}

/**
 * A rule for a program: says what it sees, nothing when the call is LOW. What a rule can do returns `undefined`, so that it
 * can end with `return call.say(…)`.
 */
export type ProgramRule = (call: ProgramCall) => void

export type ProgramRules = Record<string, ProgramRule>

interface CallContext {
  piece: Piece
  scope: Scope
  feed: StandardInput
  depth: number
  fence: Fence
  run: (inner: readonly Arg[], piece: Piece) => undefined
  shell: (script: Arg) => undefined
}

/** The call that a rule gets to see, with hands that write what it says into the piece; `undefined` when there is no word. */
export function createCall(args: readonly Arg[], around: CallContext): ProgramCall | undefined {
  const { piece, scope, fence, feed } = around
  const [head, ...rest] = args
  if (head === undefined) return undefined
  const where = { scope, fence, add: (reason: Piece['reasons'][number]) => addReason(piece, reason) }
  return {
    name: '',
    head,
    args: rest,
    feed,
    scope,
    fence,
    direct: around.depth === 0,
    say: (code, risk, text, at = head) => addReason(piece, { code, risk, text, at: at.at }),
    path: (arg, access) => judgeFile(arg, access, where),
    secret: arg => judgeSecret(arg, where),
    set: (name, value, at) => {
      judgeAssignment({ name, value, at: at.at, alone: true }, where.add)
      bindVariable(name, value, scope)
    },
    move: path => {
      const place = locatePath(path, scope.cwd ?? fence.boundary, fence)
      scope.cwd = place.where === 'strange' ? undefined : place.path
      if (scope.cwd !== undefined) noteFolder(scope, scope.cwd)
      if (place.where !== 'inside')
        addReason(piece, { code: 'cwd.outside', risk: 'MEDIUM', text: `${path} is outside the project`, at: head.at })
    },
    run: inner => {
      const [first] = inner
      if (first === undefined) return
      const text = inner.map(one => one.value.replaceAll(HOLE, '…')).join(' ')
      const below = addPiece(piece, { text, at: first.at })
      below.derived = true
      around.run(inner, below)
    },
    shell: around.shell,
  }
}

/** A program that stands before another in a pipe. */
export interface Upstream {
  words: Arg[]
  /** Its here-document. */
  text?: Arg
}

/** What a part of a pipe is, as far as the parts behind it need to know. */
export function readUpstream(node: ShellNode, scope: Scope): Upstream {
  if (node.is === 'command') {
    const body = node.redirects.findLast(one => one.body !== undefined)?.body
    return { words: expandWords(node.words, scope), ...(body && { text: expandText(body, scope) }) }
  }
  const last = node.is === 'pipeline' ? node.parts.at(-1) : node.body.at(-1)
  return last ? readUpstream(last, scope) : { words: [] }
}
