import type { Piece, Reason, Span } from '../../domain/assessment.ts'
import type { Fence } from '../paths/place.ts'
import { parseShell, unread } from '../shell/parse.ts'
import { mayBeSlow } from '../shell/precheck.ts'
import type { Node, Reading, Redirect, Script, Word } from '../shell/tree.ts'
import type { Feed } from './call.ts'
import { assign } from './effects/assign.ts'
import { judgeAssignment } from './effects/environment.ts'
import { judgeEvaluated } from './effects/evaluated.ts'
import { judgeRedirect } from './effects/redirects.ts'
import { callsItselfApart } from './fork-bomb.ts'
import { callOf } from './hands.ts'
import { judgeCall } from './judge-call.ts'
import { add, child, childOf, point } from './pieces.ts'
import type { Arg } from './words/arg.ts'
import { expandWord, expandWords } from './words/expand.ts'
import { childScope, noteSetters, type Scope } from './words/scope.ts'
import { type Upstream, upstreamOf } from './words/upstream.ts'
import { textOf } from './words/values.ts'

/** Wrappers in wrappers, scripts in scripts: nobody writes more, and whoever does hides something. */
const MAX_DEPTH = 8
/** Commands looked at in all, loops counted by their values. */
const MAX_COMMANDS = 2_000
/** Values of a loop that are walked one by one; with more, the variable is unknown. */
const MAX_ROUNDS = 8

const NO_FEED: Feed = { piped: false }

/** Where a walk stands. */
interface Spot {
  piece: Piece
  scope: Scope
  feed: Feed
  depth: number
}

/** Visits every command that a script can run and collects what the rules say about each. */
export class Walk {
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
  reading({ script, errors }: Reading, scope: Scope): Piece {
    const piece: Piece = { text: this.#source, risk: 'LOW', at: script.at, reasons: [], pieces: [] }
    this.#script({ script, errors }, { piece, scope, feed: NO_FEED, depth: 0 })
    return piece
  }

  #script({ script, errors }: Reading, spot: Spot): undefined {
    for (const { message, at } of errors.slice(0, 3))
      add(spot.piece, { code: 'shell.unreadable', risk: 'HIGH', text: `it cannot be read: ${message}`, at })
    noteSetters(script, spot.scope)
    this.#nodes(script.body, spot)
  }

  #nodes(nodes: readonly Node[], spot: Spot): undefined {
    for (const node of nodes) this.#node(node, spot)
  }

  #node(node: Node, spot: Spot): undefined {
    switch (node.is) {
      case 'command':
        return this.#command(node, spot)
      case 'pipeline': {
        const piece = child(spot.piece, node, this.#source.slice(node.at[0], node.at[1]))
        piece.piped = true
        const before: Upstream[] = []
        for (const [place, part] of node.parts.entries()) {
          const feed = place === 0 ? spot.feed : { piped: true, upstream: [...before] }
          const scope = childScope(spot.scope)
          this.#node(part, { ...spot, piece, feed, scope })
          before.push(upstreamOf(part, scope))
        }
        return
      }
      case 'group': {
        const feed = this.#redirects(node.redirects, spot)
        this.#words(node.words, spot)
        judgeEvaluated(expandWords(node.words, spot.scope), reason => add(spot.piece, reason))
        const scope = node.apart ? childScope(spot.scope) : spot.scope
        return this.#nodes(node.body, { ...spot, feed, scope })
      }
      case 'loop':
        return this.#loop(node, spot)
      case 'function':
        return this.#function(node, spot)
    }
  }

  #loop(node: Extract<Node, { is: 'loop' }>, spot: Spot): undefined {
    this.#words(node.words ?? [], spot)
    const { scope } = spot
    const at = node.at
    judgeAssignment({ name: node.name, value: undefined, at, alone: true }, reason => add(spot.piece, reason))
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

  #function(node: Extract<Node, { is: 'function' }>, spot: Spot): undefined {
    spot.scope.functions.add(node.name)
    const piece = child(spot.piece, node, `function ${node.name}`)
    if (callsItselfApart(node.body, node.name, false))
      add(piece, {
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
  #words(words: readonly Word[], spot: Spot): undefined {
    for (const word of words) this.#bits(word, spot)
  }

  #bits(word: Word, spot: Spot): undefined {
    for (const bit of word.bits) {
      if (bit.is === 'substitution') this.#substitution(bit.script, word, spot)
      else if (bit.is === 'variable' || bit.is === 'brace' || bit.is === 'arithmetic') this.#words(bit.inner, spot)
      if (bit.is === 'variable' && bit.sets)
        judgeAssignment({ name: bit.name, value: undefined, at: word.at, alone: true }, reason =>
          add(spot.piece, reason),
        )
    }
  }

  #substitution(script: Script, word: Word, spot: Spot): undefined {
    const piece = child(spot.piece, script, this.#slice(script, word))
    this.#nodes(script.body, { piece, scope: childScope(spot.scope), feed: NO_FEED, depth: spot.depth })
  }

  #slice(script: Script, word: Word): string {
    const text = this.#source.slice(script.at[0], script.at[1])
    return text === '' ? word.text : text
  }

  #redirects(redirects: readonly Redirect[], spot: Spot): Feed {
    let { feed } = spot
    for (const one of redirects) {
      if (one.target) this.#bits(one.target, spot)
      if (one.body) this.#bits(one.body, spot)
      const target = one.target && expandWord(one.target, spot.scope)
      const body = one.body && textOf(one.body, spot.scope)
      judgeRedirect(
        { redirect: one, targets: target ?? [] },
        { ...spot, fence: this.#fence, add: reason => add(spot.piece, reason) },
      )
      if (body?.secret !== undefined) add(spot.piece, shownSecret(body.secret, body.at))
      if (body) feed = { piped: false, text: body }
      else if (one.op === '<' && target?.[0]) feed = { piped: false, file: target[0] }
    }
    return feed
  }

  #command(node: Extract<Node, { is: 'command' }>, outer: Spot): undefined {
    if (this.#budget.commands > MAX_COMMANDS) return
    const piece = child(outer.piece, node, this.#source.slice(node.at[0], node.at[1]))
    const spot = { ...outer, piece }
    if (++this.#budget.commands > MAX_COMMANDS)
      return add(piece, { ...tooDeep(node.at), code: 'shell.too-many', text: `more than ${MAX_COMMANDS} commands` })
    const alone = node.words.length === 0
    for (const one of node.assigns) {
      if (one.value) this.#bits(one.value, spot)
      this.#words(one.inner, spot)
      assign(one, { alone, of: node.words[0]?.text, scope: spot.scope, add: reason => add(piece, reason) })
    }
    this.#words(node.words, spot)
    const feed = this.#redirects(node.redirects, spot)
    const args = expandWords(node.words, spot.scope)
    if (args.length > 0) this.#run(args, { ...spot, feed })
  }

  /** Judges expanded words as a command; wrappers come back here with what they run. */
  #run(args: readonly Arg[], spot: Spot): undefined {
    const [head, ...rest] = args
    if (head === undefined) return
    if (head.value === '!') return this.#run(rest, spot)
    const set = spot.depth > 0 ? /^([A-Za-z_]\w*)=(.*)$/s.exec(head.value) : null
    if (set) {
      // Most wrappers would look for a program of that name; a shell behind one of them would not.
      const value = { ...head, value: set[2] ?? '' }
      judgeAssignment({ name: set[1] ?? '', value, at: head.at, alone: false }, reason => add(spot.piece, reason))
      return this.#run(rest, { ...spot, depth: spot.depth + 1 })
    }
    if (spot.depth > MAX_DEPTH) return add(spot.piece, tooDeep(head.at))
    spot.piece.argv = args.map(arg => arg.value)
    const call = callOf(args, {
      ...spot,
      fence: this.#fence,
      run: (inner, piece) => this.#run(inner, { ...spot, piece, depth: spot.depth + 1 }),
      shell: script => this.#nested(script, spot),
    })
    if (call) judgeCall(call)
  }

  /** A text that a shell will read: read it now, unless part of it is known only later. */
  #nested(script: Arg, spot: Spot): undefined {
    const { value, at } = script
    if (!script.known)
      return add(spot.piece, {
        code: 'shell.unknown-text',
        risk: 'HIGH',
        text: 'a shell reads a text that is known only when it runs',
        at,
      })
    if (spot.depth >= MAX_DEPTH) return add(spot.piece, tooDeep(at))
    const reading = mayBeSlow(value) ? unread(value, 'a text for a nested shell is too long') : parseShell(value)
    const piece = childOf(spot.piece, { text: value, at })
    piece.derived = true
    const walk = new Walk(value, this.#fence, this.#budget)
    walk.#script(reading, { ...spot, piece, depth: spot.depth + 1 })
    // Offsets of a nested text mean that text: what is said about it points at the word that holds it.
    point(piece, at)
  }
}

function tooDeep(at: Span): Reason {
  return { code: 'wrapper.deep', risk: 'HIGH', text: `commands in commands, more than ${MAX_DEPTH} deep`, at }
}

function shownSecret(name: string, at: Span): Reason {
  return { code: 'secret.variable', risk: 'HIGH', text: `${name} looks like a secret`, at }
}
