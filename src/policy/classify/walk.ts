import { dirname } from 'node:path'
import type { Piece } from '../../domain/assessment.ts'
import { type Fence, locatePath } from '../paths/fence.ts'
import { isOnlyCopy } from '../paths/judge-path.ts'
import type { Arg } from '../shell/args.ts'
import { expandText, expandWord, expandWords, listNumbers } from '../shell/expand.ts'
import { failedParse, mayBeSlow, parseShell } from '../shell/parse.ts'
import { computeOutput } from '../shell/printed.ts'
import { childScope, noteListed, noteSetters, type ShellScope, walkApart, walkUncertain } from '../shell/scope.ts'
import {
  isForkBomb,
  type ParsedShell,
  type Redirect,
  type Script,
  type ShellNode,
  startsProcesses,
  type Word,
} from '../shell/tree.ts'
import { addNodePiece, addPiece, addReason, MAX_DEPTH, pointAt, tooDeepReason } from './assessment-tree.ts'
import { createCall, type MakeText, type ReadLines, readUpstream, type StandardInput, type Upstream } from './call.ts'
import { explainChange, findCommands, isSteered, mayReplace } from './changed-file.ts'
import { assign, judgeAssignment } from './environment.ts'
import { judgeCall, judgeEvaluated } from './judge-call.ts'
import { emptiesFile, isOwnFile, isStandardDevice, judgeRedirect, noteSpelled } from './judge-file.ts'
import { findScriptRisks, mayFollow, readScript } from './script-file.ts'
import { explainText, type TextFinding, type WrittenChange } from './written-text.ts'

/** Commands walked in all; the body of a loop counts once per value. */
const MAX_COMMANDS = 2_000
/** The most values of a loop that are walked one by one; with more, the variable is unknown. */
const MAX_ROUNDS = 8
const MAX_NUMBERS = 20

const NO_INPUT: StandardInput = { piped: false }

/** The state of a walk at one node. */
interface WalkState {
  piece: Piece
  scope: ShellScope
  feed: StandardInput
  depth: number
  /** The script files that run one another here, the outermost first. */
  files?: readonly string[]
}

/** Visits every command that a script can run and collects the reasons that the rules give for each. */
export class CommandWalker {
  readonly #fence: Fence
  readonly #source: string
  /** Shared with the walks of nested texts. */
  readonly #budget: { commands: number; most: number }

  constructor(source: string, fence: Fence, budget = { commands: 0, most: MAX_COMMANDS }) {
    this.#source = source
    this.#fence = fence
    this.#budget = budget
  }

  /** The piece for a whole parsed script. */
  reading({ script, errors }: ParsedShell, scope: ShellScope): Piece {
    const piece: Piece = { text: this.#source, risk: 'LOW', at: script.at, reasons: [], pieces: [] }
    this.#script({ script, errors }, { piece, scope, feed: NO_INPUT, depth: 0 })
    return piece
  }

  #script({ script, errors }: ParsedShell, state: WalkState): undefined {
    for (const { message, at } of errors.slice(0, 3))
      addReason(state.piece, { code: 'shell.unreadable', risk: 'HIGH', text: `it cannot be read: ${message}`, at })
    noteSetters(script, state.scope)
    this.#nodes(script.body, state)
  }

  #nodes(nodes: readonly ShellNode[], state: WalkState): undefined {
    for (const node of nodes) this.#node(node, state)
  }

  #node(node: ShellNode, state: WalkState): undefined {
    switch (node.is) {
      case 'command':
        return this.#command(node, state)
      case 'pipeline': {
        const piece = addNodePiece(state.piece, node, this.#source.slice(node.at[0], node.at[1]))
        piece.piped = true
        const before: Upstream[] = []
        for (const [index, part] of node.parts.entries()) {
          const feed = index === 0 ? state.feed : { piped: true, upstream: [...before] }
          const scope = childScope(state.scope)
          this.#node(part, { ...state, piece, feed, scope })
          before.push(readUpstream(part, scope))
        }
        return
      }
      case 'group': {
        if (node.endless)
          addReason(state.piece, { code: 'proc.many', risk: 'MEDIUM', text: 'a loop that nothing ends', at: node.at })
        const feed = this.#redirects(node.redirects, state)
        this.#words(node.words, state)
        const scope = node.apart ? childScope(state.scope) : state.scope
        const walk = () => this.#nodes(node.body, { ...state, feed, scope })
        if (node.maybe) return walkUncertain(scope, walk, node)
        return node.background ? walkApart(scope, walk) : walk()
      }
      case 'loop':
        return this.#loop(node, state)
      case 'function':
        return this.#function(node, state)
    }
  }

  #loop(node: Extract<ShellNode, { is: 'loop' }>, state: WalkState): undefined {
    this.#words(node.words ?? [], state)
    const [{ scope }, { at }] = [state, node]
    judgeAssignment({ name: node.name, value: undefined, at, alone: true }, reason => addReason(state.piece, reason))
    const numbers = node.words && listNumbers(node.words, scope)
    const values = numbers ?? (node.words === undefined ? undefined : expandWords(node.words, scope))
    const isKnown = values?.every(arg => arg.known && arg.secret === undefined) && !scope.unknown.has(node.name)
    if (values?.some(arg => arg.secret !== undefined)) scope.secrets.add(node.name)
    if (!values || !isKnown || values.length > (numbers ? MAX_NUMBERS : MAX_ROUNDS)) {
      if (node.body.some(startsProcesses))
        addReason(state.piece, { code: 'proc.many', risk: 'MEDIUM', text: 'a loop starts many processes at once', at })
      if (values?.every(arg => arg.known || arg.listed)) noteListed(scope, node.name)
      scope.unknown.add(node.name)
      return walkUncertain(scope, () => this.#nodes(node.body, state))
    }
    for (const arg of values) {
      scope.values.set(node.name, { value: arg.value, glob: arg.glob })
      this.#nodes(node.body, state)
    }
    if (values.length !== 1) scope.unknown.add(node.name)
  }

  #function(node: Extract<ShellNode, { is: 'function' }>, state: WalkState): undefined {
    state.scope.functions.add(node.name)
    const piece = addNodePiece(state.piece, node, `function ${node.name}`)
    if (isForkBomb(node.body, node.name, false))
      addReason(piece, {
        code: 'proc.bomb',
        risk: 'HIGH',
        text: `${node.name} starts copies of itself without end`,
        at: node.at,
      })
    const scope = childScope(state.scope)
    scope.unknown = new Set([...scope.unknown, ...scope.values.keys()])
    // A function may be called from anywhere, so nothing is known about its directory or its variables.
    walkApart(scope, () => this.#nodes(node.body, { ...state, piece, scope }))
  }

  /** Words that are no command: substitutions in them run all the same. */
  #words(words: readonly Word[], state: WalkState): undefined {
    for (const word of words) this.#bits(word, state)
  }

  #bits(word: Word, state: WalkState): undefined {
    for (const bit of word.bits) {
      if (bit.is === 'substitution') this.#substitution(bit.script, word, state)
      else if (bit.is === 'variable' || bit.is === 'brace' || bit.is === 'arithmetic') this.#words(bit.inner, state)
      if (bit.is === 'arithmetic') judgeEvaluated(bit.inner, state.scope, reason => addReason(state.piece, reason))
      if (bit.is === 'variable' && bit.names)
        addReason(state.piece, { code: 'env.print', risk: 'MEDIUM', text: `${word.text} lists variables`, at: word.at })
      if (bit.is === 'variable' && bit.sets)
        judgeAssignment({ name: bit.name, value: undefined, at: word.at, alone: true }, reason =>
          addReason(state.piece, reason),
        )
    }
  }

  #substitution(script: Script, word: Word, state: WalkState): undefined {
    const piece = addNodePiece(state.piece, script, this.#slice(script, word))
    this.#nodes(script.body, { ...state, piece, scope: childScope(state.scope), feed: NO_INPUT })
  }

  #slice(script: Script, word: Word): string {
    const text = this.#source.slice(script.at[0], script.at[1])
    return text === '' ? word.text : text
  }

  /** `words` are those of the command that the redirects belong to. */
  #redirects(redirects: readonly Redirect[], state: WalkState, words?: readonly Arg[]): StandardInput {
    let { feed } = state
    const isOwn = (file?: Arg) => file !== undefined && isOwnFile(file, { scope: state.scope, fence: this.#fence })
    const before = (feed.upstream ?? []).map(program => program.words)
    const inputs = redirects.flatMap(({ op, target }) => (op === '<' && target ? expandWord(target, state.scope) : []))
    const bodies = redirects.flatMap(({ body }) => (body ? [expandText(body, state.scope)] : []))
    for (const redirect of redirects) {
      if (redirect.target) this.#bits(redirect.target, state)
      if (redirect.body) this.#bits(redirect.body, state)
      const target = redirect.target && expandWord(redirect.target, state.scope)
      const body = redirect.body && expandText(redirect.body, state.scope)
      judgeRedirect(
        { redirect, targets: target ?? [] },
        {
          ...state,
          words: before.length === 0 ? words : undefined,
          empties: redirect.op !== '>>' && emptiesFile(target?.[0], words ? [...before, words] : before, inputs),
          fence: this.#fence,
          add: reason => addReason(state.piece, reason),
        },
      )
      const file = redirect.op.startsWith('>') ? target?.[0] : undefined
      const [spelled, second] = bodies
      const isPrinted = /^1?>>?$/.test(redirect.op) && /^1?>/.test(this.#source.slice(redirect.at[0], redirect.at[1]))
      const text =
        words && isPrinted && before.length === 0 && !second
          ? computeOutput(words, spelled, path => this.#read(path, state))
          : undefined
      if (file?.known && !isStandardDevice(file.value)) {
        noteSpelled(file, redirect.op === '>' && SPELLS.test(words?.[0]?.value ?? '') ? text : undefined, state)
        const adds = redirect.op === '>>'
        const isCopy = words?.length === 2 && words[0]?.value === 'cat'
        const whole = { after: text, whole: true, ...(isCopy && { copied: true as const }) } as const
        this.#change(file, (had = '') => (adds ? { after: text && had + text } : whole), state)
      }
      const pipe = words ? [...before, words] : before
      const isFile = file && !isStandardDevice(file.value) && !(redirect.op === '>&' && /^(\d+-?|-)$/.test(file.value))
      for (const reason of isFile ? explainText(file.value, pipe, redirects.length > 1 ? bodies : []) : [])
        addReason(state.piece, { ...reason, at: redirect.at, ...(reason.held && isOwn(file) && { own: true }) })
      if (body?.secret !== undefined)
        addReason(state.piece, {
          code: 'secret.variable',
          risk: 'HIGH',
          text: `${body.secret} looks like a secret`,
          at: body.at,
        })
      if (body) feed = { piped: false, text: body }
      else if (redirect.op === '<' && target?.[0]) feed = { piped: false, file: target[0] }
    }
    return feed
  }

  #command(node: Extract<ShellNode, { is: 'command' }>, outer: WalkState): undefined {
    if (this.#budget.commands > this.#budget.most) return
    const piece = addNodePiece(outer.piece, node, this.#source.slice(node.at[0], node.at[1]))
    const state = { ...outer, piece }
    if (++this.#budget.commands > this.#budget.most)
      return addReason(piece, {
        ...tooDeepReason(node.at),
        code: 'shell.too-many',
        text: `more than ${this.#budget.most} commands`,
      })
    const [alone, { given }] = [node.words.length === 0, state.scope]
    state.scope.given = new Map(given)
    for (const assignment of node.assigns) {
      if (assignment.value) this.#bits(assignment.value, state)
      this.#words(assignment.inner, state)
      assign(assignment, {
        alone,
        of: node.words[0]?.text,
        ...{ scope: state.scope, fence: this.#fence },
        add: reason => addReason(piece, reason),
      })
    }
    this.#words(node.words, state)
    const args = expandWords(node.words, state.scope)
    const feed = this.#redirects(node.redirects, state, args)
    if (args.length > 0) this.#run(args, { ...state, feed })
    state.scope.given = given
  }

  /** Judges expanded words as a command; wrappers call this again with the command that they run. */
  #run(args: readonly Arg[], state: WalkState): undefined {
    const [head, ...rest] = args
    if (head === undefined) return
    if (head.value === '!') return this.#run(rest, state)
    const set = state.depth > 0 ? /^([A-Za-z_]\w*)=(.*)$/s.exec(head.value) : null
    if (set) {
      // Most wrappers would run a program of that name, but a shell behind a wrapper would set the variable.
      const value = { ...head, value: set[2] ?? '' }
      state.scope.given.set(set[1] ?? '', head.known ? value.value : undefined)
      judgeAssignment({ name: set[1] ?? '', value, at: head.at, alone: false }, reason =>
        addReason(state.piece, reason),
      )
      return this.#run(rest, { ...state, depth: state.depth + 1 })
    }
    if (state.depth > MAX_DEPTH) return addReason(state.piece, tooDeepReason(head.at))
    state.piece.argv = args.map(arg => arg.value)
    const call = createCall(args, {
      ...state,
      fence: this.#fence,
      run: (inner, piece) => this.#run(inner, { ...state, piece, depth: state.depth + 1 }),
      shell: script => this.#nested(script, state),
      script: (path, file) => this.#file(path, file, state),
      lines: (source, at) => this.#lines(source, at, state),
      change: (file, make) => this.#change(file, make, state),
    })
    if (call) judgeCall(call)
  }

  /** Walks a script file as if its lines had been typed. A file that cannot be read changes nothing. */
  #file(path: string, file: Arg, state: WalkState): undefined {
    const text = mayFollow(path, state) ? readScript(path, this.#fence, state.depth < 1 && state.piece.argv) : undefined
    if (text === undefined) return
    this.#lines({ id: path, name: file.text, whole: true, lines: [{ text, line: 1 }] }, file, state)
  }

  /**
   * Walks lines that a file of the project gives to a shell. What is HIGH in them is HIGH for the command that runs them, with the
   * line; the rest changes nothing.
   */
  #lines(source: ReadLines, at: Arg, state: WalkState): undefined {
    for (const reason of this.#findRisks(source, state).slice(0, MAX_NAMED))
      addReason(state.piece, { ...reason, at: at.at, text: `${source.name}${reason.text}` })
  }

  /** The text of a file of the project, or the one that the same command has spelled out for it. */
  #read(path: string, { scope }: WalkState): string | undefined {
    if (scope.cwd === undefined || scope.folders.size > 1) return undefined
    const place = locatePath(path, scope.cwd, this.#fence)
    if (place.where !== 'inside') return undefined
    if (scope.spelled.has(place.path) || scope.written.has(place.path)) return scope.spelled.get(place.path)
    const found = this.#fence.look?.(place.path)
    return found?.is === 'file' ? found.bytes.toString('utf8') : undefined
  }

  /** Judges what a file of the project becomes, in each folder in which the command may be. A file that gives commands to others must not become something that is not known. */
  #change(file: Arg, make: MakeText, state: WalkState): undefined {
    const { cwd, folders } = state.scope
    const isPlain = file.known && cwd !== undefined
    const bases = isPlain ? (file.value.startsWith('/') ? [cwd] : new Set([cwd, ...folders])) : [undefined]
    for (const base of this.#fence.look ? bases : []) this.#changeIn(base, file, make, state)
  }

  #changeIn(base: string | undefined, file: Arg, make: MakeText, { piece, scope }: WalkState): undefined {
    const [{ look, boundary }, first] = [this.#fence, make(undefined)]
    const place = base === undefined ? undefined : locatePath(file.value, base, this.#fence)
    if (look === undefined || (place && place.where !== 'inside')) return
    const name = place?.relative ?? (file.known ? file.value : '')
    const steers = file.glob || !place ? undefined : isSteered(name)
    const onlyCopy = place && first.whole && isOnlyCopy(name, this.#fence)
    const isRead = steers || onlyCopy || (!file.glob && mayReplace(name, first))
    const found = place && isRead ? look(place.path) : undefined
    const before = found?.is === 'file' ? found.bytes.toString('utf8') : undefined
    // In another folder only a file that is there can change.
    if (base !== undefined && base !== scope.cwd && before === undefined) return
    const made = make(before) // that nothing changes may be so only until the rest of the command ran
    const { after, added, ...how } = !steers && made.after === before ? first : made
    if (after === undefined && (steers === 'asked' || (steers === 'kept' && before !== undefined)))
      return addReason(piece, { ...UNSEEN, text: `it is not known what ${file.text} becomes`, at: file.at })
    const change = { before, after, added: after ?? added, onlyCopy, ...how }
    for (const finding of this.explainChange(place?.path ?? `${boundary}/${name}`, change, scope))
      addReason(piece, { ...finding, at: file.at })
  }

  /** What is asked about in a change of a file, given its real path: what its text does, and the commands that others would run because of it. */
  explainChange(path: string, change: WrittenChange, scope: ShellScope): TextFinding[] {
    const name = path.startsWith(`${this.#fence.boundary}/`) ? path.slice(this.#fence.boundary.length + 1) : path
    const piece: Piece = { text: name, risk: 'LOW', reasons: [], pieces: [] }
    const state = { piece, scope, feed: NO_INPUT, depth: 0 }
    const risks = findCommands(name, change).flatMap(source =>
      this.#findRisks({ ...source, cwd: dirname(path) }, state).map(({ text }) => `${source.name}${text}`),
    )
    return [
      ...explainChange(name, change, other => this.#read(`${dirname(path)}/${other}`, state)),
      ...risks.slice(0, MAX_NAMED).map(text => ({ code: 'write.command', risk: 'MEDIUM' as const, text })),
    ]
  }

  /** What is HIGH or reaches others in lines that a shell would read. */
  #findRisks(source: ReadLines, state: WalkState): TextFinding[] {
    if (!mayFollow(source.id, state)) return []
    const [files, budget] = [[...(state.files ?? []), source.id], { commands: 0, most: MAX_SCRIPT_COMMANDS }]
    return source.lines.flatMap(({ text, line }) => {
      const parsed = parseShell(text)
      const piece: Piece = { text, risk: 'LOW', at: parsed.script.at, reasons: [], pieces: [] }
      const scope = { ...childScope(state.scope), tainted: false, script: source.whole && source.id }
      if (source.cwd !== undefined) scope.cwd = source.cwd
      const walk = new CommandWalker(text, this.#fence, budget)
      walk.#script(parsed, { piece, scope, feed: NO_INPUT, depth: 0, files })
      return findScriptRisks(piece, { text, line, source })
    })
  }

  /** Walks a text that a shell will read. If part of it is known only when it runs, it is HIGH. */
  #nested(script: Arg, state: WalkState): undefined {
    const { value, at } = script
    if (!script.known)
      return addReason(state.piece, {
        code: 'shell.unknown-text',
        risk: 'HIGH',
        text: 'a shell reads a text that is known only when it runs',
        at,
      })
    if (state.depth >= MAX_DEPTH) return addReason(state.piece, tooDeepReason(at))
    const reading = mayBeSlow(value) ? failedParse(value, 'a text for a nested shell is too long') : parseShell(value)
    const piece = addPiece(state.piece, { text: value, at })
    piece.derived = true
    const walk = new CommandWalker(value, this.#fence, this.#budget)
    walk.#script(reading, { ...state, piece, depth: state.depth + 1 })
    // Offsets in a nested text refer to that text, so its reasons point at the word that holds it.
    pointAt(piece, at)
  }
}

const UNSEEN = { code: 'write.unseen', risk: 'MEDIUM' } as const

const SPELLS = /^(cat|jq|printf|echo)$/
/** Commands walked in one script file. A script with more is left to a person: padding could hide its last lines. */
const MAX_SCRIPT_COMMANDS = 10_000
/** At most this many lines of a script are named. */
const MAX_NAMED = 3
