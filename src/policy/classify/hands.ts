import type { Piece } from '../../domain/assessment.ts'
import { type Fence, placeOf } from '../paths/place.ts'
import type { Call, Feed } from './call.ts'
import { judgeAssignment } from './effects/environment.ts'
import { judgeFile, judgeSecret } from './effects/judge-file.ts'
import { add, childOf } from './pieces.ts'
import { type Arg, HOLE } from './words/arg.ts'
import { noteFolder, type Scope } from './words/scope.ts'
import { bind } from './words/values.ts'

interface Around {
  piece: Piece
  scope: Scope
  feed: Feed
  depth: number
  fence: Fence
  run: (inner: readonly Arg[], piece: Piece) => undefined
  shell: (script: Arg) => undefined
}

/** The call that a rule gets to see, with hands that write what it says into the piece; `undefined` when there is no word. */
export function callOf(args: readonly Arg[], around: Around): Call | undefined {
  const { piece, scope, fence, feed } = around
  const [head, ...rest] = args
  if (head === undefined) return undefined
  const where = { scope, fence, add: (reason: Piece['reasons'][number]) => add(piece, reason) }
  return {
    name: '',
    head,
    args: rest,
    feed,
    scope,
    fence,
    direct: around.depth === 0,
    say: (code, risk, text, at = head) => add(piece, { code, risk, text, at: at.at }),
    path: (arg, access) => judgeFile(arg, access, where),
    secret: arg => judgeSecret(arg, where),
    set: (name, value, at) => {
      judgeAssignment({ name, value, at: at.at, alone: true }, where.add)
      bind(name, value, scope)
    },
    move: path => {
      const place = placeOf(path, scope.cwd ?? fence.boundary, fence)
      scope.cwd = place.where === 'strange' ? undefined : place.path
      if (scope.cwd !== undefined) noteFolder(scope, scope.cwd)
      if (place.where !== 'inside')
        add(piece, { code: 'cwd.outside', risk: 'MEDIUM', text: `${path} is outside the project`, at: head.at })
    },
    run: inner => {
      const [first] = inner
      if (first === undefined) return
      const text = inner.map(one => one.value.replaceAll(HOLE, '…')).join(' ')
      const below = childOf(piece, { text, at: first.at })
      below.derived = true
      around.run(inner, below)
    },
    shell: around.shell,
  }
}
