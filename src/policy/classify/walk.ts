import type { Piece, Reason, Span } from '../../domain/assessment.ts'
import type { Fence } from '../paths/fence.ts'
import type { Arg } from '../shell/args.ts'
import { expandText, expandWord, expandWords } from '../shell/expand.ts'
import { failedParse, mayBeSlow, parseShell } from '../shell/parse.ts'
import { childScope, noteSetters, type Scope } from '../shell/scope.ts'
import type { ParsedShell, Redirect, Script, ShellNode, Word } from '../shell/tree.ts'
import { addNodePiece, addPiece, addReason, pointAt } from './assessment-tree.ts'
import { createCall, readUpstream, type StandardInput, type Upstream } from './call.ts'
import { assign, judgeAssignment } from './environment.ts'
import { judgeCall, judgeEvaluated } from './judge-call.ts'
import { judgeRedirect } from './judge-file.ts'

/** Wrappers in wrappers, scripts in scripts: nobody writes more, and whoever does hides something. */
const MAX_DEPTH = 8
/** Commands looked at in all, loops counted by their values. */
const MAX_COMMANDS = 2_000
/** Values of a loop that are walked one by one; with more, the variable is unknown. */
const MAX_ROUNDS = 8

const NO_INPUT: StandardInput = { piped: false }

/** Where a walk stands. */
interface WalkState {
  piece: Piece
  scope: Scope
  feed: StandardInput
  depth: number
}

/** Visits every command that a script can run and collects what the rules say about each. */
export class CommandWalker {
  readonly #fence: Fence
  readonly #source: string
  /** Shared with the walks of nested texts. */
  readonly #budget: { commands: number }

  constructor(source: string, fence: Fence, budget = { commands: 0 }) {
    this.#source = source
    this.#fence = fence
    this.#budget = budget
  }

  /** The piece for a whole reading. */
  reading({ script, errors }: ParsedShell, scope: Scope): Piece {
    const piece: Piece = { text: this.#source, risk: 'LOW', at: script.at, reasons: [], pieces: [] }
    this.#script({ script, errors }, { piece, scope, feed: NO_INPUT, depth: 0 })
    return piece
  }

  #script({ script, errors }: ParsedShell, spot: WalkState): undefined {
    for (const { message, at } of errors.slice(0, 3))
      addReason(spot.piece, { code: 'shell.unreadable', risk: 'HIGH', text: `it cannot be read: ${message}`, at })
    noteSetters(script, spot.scope)
    this.#nodes(script.body, spot)
  }

  #nodes(nodes: readonly ShellNode[], spot: WalkState): undefined {
    for (const node of nodes) this.#node(node, spot)
  }

  #node(node: ShellNode, spot: WalkState): undefined {
    switch (node.is) {
      case 'command':
        return this.#command(node, spot)
      case 'pipeline': {
        const piece = addNodePiece(spot.piece, node, this.#source.slice(node.at[0], node.at[1]))
        piece.piped = true
        const before: Upstream[] = []
        for (const [place, part] of node.parts.entries()) {
          const feed = place === 0 ? spot.feed : { piped: true, upstream: [...before] }
          const scope = childScope(spot.scope)
          this.#node(part, { ...spot, piece, feed, scope })
          before.push(readUpstream(part, scope))
        }
        return
      }
      case 'group': {
        const feed = this.#redirects(node.redirects, spot)
        this.#words(node.words, spot)
        judgeEvaluated(expandWords(node.words, spot.scope), reason => addReason(spot.piece, reason))
        const scope = node.apart ? childScope(spot.scope) : spot.scope
        return this.#nodes(node.body, { ...spot, feed, scope })
      }
      case 'loop':
        return this.#loop(node, spot)
      case 'function':
        return this.#function(node, spot)
    }
  }

  #loop(node: Extract<ShellNode, { is: 'loop' }>, spot: WalkState): undefined {
    this.#words(node.words ?? [], spot)
    const { scope } = spot
    const at = node.at
    judgeAssignment({ name: node.name, value: undefined, at, alone: true }, reason => addReason(spot.piece, reason))
    const values = node.words === undefined ? undefined : expandWords(node.words, scope)
    const followable = values?.every(one => one.known && one.secret === undefined) && !scope.unknown.has(node.name)
    if (values?.some(one => one.secret !== undefined)) scope.secrets.add(node.name)
    if (!values || !followable || values.length > MAX_ROUNDS) {
      scope.unknown.add(node.name)
      return this.#nodes(node.body, spot)
    }
    for (const one of values) {
      scope.values.set(node.name, { value: one.value, glob: one.glob })
      this.#nodes(node.body, spot)
    }
    if (values.length !== 1) scope.unknown.add(node.name)
  }

  #function(node: Extract<ShellNode, { is: 'function' }>, spot: WalkState): undefined {
    spot.scope.functions.add(node.name)
    const piece = addNodePiece(spot.piece, node, `function ${node.name}`)
    if (isForkBomb(node.body, node.name, false))
      addReason(piece, {
        code: 'proc.bomb',
        risk: 'HIGH',
        text: `${node.name} starts copies of itself without end`,
        at: node.at,
      })
    const scope = childScope(spot.scope)
    scope.unknown = new Set([...scope.unknown, ...scope.values.keys()])
    // It may be called from anywhere, so nothing is known about where it runs or what stands in its variables.
    this.#nodes(node.body, { ...spot, piece, scope })
  }

  /** Words that are no command: what is substituted in them runs all the same. */
  #words(words: readonly Word[], spot: WalkState): undefined {
    for (const word of words) this.#bits(word, spot)
  }

  #bits(word: Word, spot: WalkState): undefined {
    for (const bit of word.bits) {
      if (bit.is === 'substitution') this.#substitution(bit.script, word, spot)
      else if (bit.is === 'variable' || bit.is === 'brace' || bit.is === 'arithmetic') this.#words(bit.inner, spot)
      if (bit.is === 'variable' && bit.sets)
        judgeAssignment({ name: bit.name, value: undefined, at: word.at, alone: true }, reason =>
          addReason(spot.piece, reason),
        )
    }
  }

  #substitution(script: Script, word: Word, spot: WalkState): undefined {
    const piece = addNodePiece(spot.piece, script, this.#slice(script, word))
    this.#nodes(script.body, { piece, scope: childScope(spot.scope), feed: NO_INPUT, depth: spot.depth })
  }

  #slice(script: Script, word: Word): string {
    const text = this.#source.slice(script.at[0], script.at[1])
    return text === '' ? word.text : text
  }

  #redirects(redirects: readonly Redirect[], spot: WalkState): StandardInput {
    let { feed } = spot
    for (const one of redirects) {
      if (one.target) this.#bits(one.target, spot)
      if (one.body) this.#bits(one.body, spot)
      const target = one.target && expandWord(one.target, spot.scope)
      const body = one.body && expandText(one.body, spot.scope)
      judgeRedirect(
        { redirect: one, targets: target ?? [] },
        { ...spot, fence: this.#fence, add: reason => addReason(spot.piece, reason) },
      )
      if (body?.secret !== undefined) addReason(spot.piece, shownSecret(body.secret, body.at))
      if (body) feed = { piped: false, text: body }
      else if (one.op === '<' && target?.[0]) feed = { piped: false, file: target[0] }
    }
    return feed
  }

  #command(node: Extract<ShellNode, { is: 'command' }>, outer: WalkState): undefined {
    if (this.#budget.commands > MAX_COMMANDS) return
    const piece = addNodePiece(outer.piece, node, this.#source.slice(node.at[0], node.at[1]))
    const spot = { ...outer, piece }
    if (++this.#budget.commands > MAX_COMMANDS)
      return addReason(piece, {
        ...tooDeep(node.at),
        code: 'shell.too-many',
        text: `more than ${MAX_COMMANDS} commands`,
      })
    const alone = node.words.length === 0
    for (const one of node.assigns) {
      if (one.value) this.#bits(one.value, spot)
      this.#words(one.inner, spot)
      assign(one, { alone, of: node.words[0]?.text, scope: spot.scope, add: reason => addReason(piece, reason) })
    }
    this.#words(node.words, spot)
    const feed = this.#redirects(node.redirects, spot)
    const args = expandWords(node.words, spot.scope)
    if (args.length > 0) this.#run(args, { ...spot, feed })
  }

  /** Judges expanded words as a command; wrappers come back here with what they run. */
  #run(args: readonly Arg[], spot: WalkState): undefined {
    const [head, ...rest] = args
    if (head === undefined) return
    if (head.value === '!') return this.#run(rest, spot)
    const set = spot.depth > 0 ? /^([A-Za-z_]\w*)=(.*)$/s.exec(head.value) : null
    if (set) {
      // Most wrappers would look for a program of that name; a shell behind one of them would not.
      const value = { ...head, value: set[2] ?? '' }
      judgeAssignment({ name: set[1] ?? '', value, at: head.at, alone: false }, reason => addReason(spot.piece, reason))
      return this.#run(rest, { ...spot, depth: spot.depth + 1 })
    }
    if (spot.depth > MAX_DEPTH) return addReason(spot.piece, tooDeep(head.at))
    spot.piece.argv = args.map(arg => arg.value)
    const call = createCall(args, {
      ...spot,
      fence: this.#fence,
      run: (inner, piece) => this.#run(inner, { ...spot, piece, depth: spot.depth + 1 }),
      shell: script => this.#nested(script, spot),
    })
    if (call) judgeCall(call)
  }

  /** A text that a shell will read: read it now, unless part of it is known only later. */
  #nested(script: Arg, spot: WalkState): undefined {
    const { value, at } = script
    if (!script.known)
      return addReason(spot.piece, {
        code: 'shell.unknown-text',
        risk: 'HIGH',
        text: 'a shell reads a text that is known only when it runs',
        at,
      })
    if (spot.depth >= MAX_DEPTH) return addReason(spot.piece, tooDeep(at))
    const reading = mayBeSlow(value) ? failedParse(value, 'a text for a nested shell is too long') : parseShell(value)
    const piece = addPiece(spot.piece, { text: value, at })
    piece.derived = true
    const walk = new CommandWalker(value, this.#fence, this.#budget)
    walk.#script(reading, { ...spot, piece, depth: spot.depth + 1 })
    // Offsets of a nested text mean that text: what is said about it points at the word that holds it.
    pointAt(piece, at)
  }
}

function tooDeep(at: Span): Reason {
  return { code: 'wrapper.deep', risk: 'HIGH', text: `commands in commands, more than ${MAX_DEPTH} deep`, at }
}

function shownSecret(name: string, at: Span): Reason {
  return { code: 'secret.variable', risk: 'HIGH', text: `${name} looks like a secret`, at }
}

/** Whether a function starts itself in a pipe or in the background: copies without end. */
function isForkBomb(nodes: readonly ShellNode[], name: string, apart: boolean): boolean {
  return nodes.some(node => {
    switch (node.is) {
      case 'command': {
        const bit = node.words[0]?.bits[0]
        return apart && bit?.is === 'text' && bit.value === name
      }
      case 'pipeline':
        return isForkBomb(node.parts, name, true)
      case 'group':
        return isForkBomb(node.body, name, apart || node.background)
      default:
        return isForkBomb(node.body, name, apart)
    }
  })
}
