import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TmuxTurn } from '../../../src/agents/tmux/turn.ts'

function said(lastText: string) {
  return { lastText, isCutShort: false }
}

/** A turn with a clock that the test moves. */
function turnAt() {
  const clock = { now: 0 }
  return { turn: new TmuxTurn(() => clock.now), later: (ms: number) => (clock.now += ms) }
}

test('a turn ends when its hook told so and its last words and their cost are there', () => {
  const { turn, later } = turnAt()
  turn.asked()
  turn.begun()
  assert.equal(turn.poll('busy', said('')), undefined)
  turn.reportEnd({ how: 'completed', text: 'Done.' })
  assert.equal(turn.poll('idle', said('Before.')), undefined)
  turn.statusUpdated()
  assert.equal(turn.poll('idle', said('Before.')), undefined, 'its last words are not written down yet')
  assert.deepEqual(turn.poll('idle', said('Done.')), { how: 'completed', text: 'Done.' })
  assert.equal(turn.poll('idle', said('Done.')), undefined, 'told once')
  turn.asked()
  turn.begun()
  turn.reportEnd({ how: 'failed', text: '' })
  later(60_000)
  assert.deepEqual(turn.poll('idle', said('Done.')), { how: 'failed', text: '' }, 'it is not waited for without end')
})

test('a turn that became idle without a word ended as it was told to, or by the hand of a person', () => {
  const ended = (prepare: (turn: TmuxTurn) => void, isCutShort = false) => {
    const { turn, later } = turnAt()
    turn.asked()
    turn.begun()
    prepare(turn)
    assert.equal(turn.poll('idle', said('Last.')), undefined, 'the hook may be on its way')
    later(60_000)
    const end = turn.poll('idle', { lastText: 'Last.', isCutShort })
    return typeof end === 'object' ? end.how : end
  }
  assert.equal(
    ended(turn => turn.interrupting()),
    'interrupted',
  )
  assert.equal(
    ended(turn => turn.stopAfterTools('pause')),
    'paused',
  )
  assert.equal(
    ended(turn => turn.stopAfterTools('park')),
    'parked',
  )
  assert.equal(
    ended(turn => turn.stopAfterTools('cap')),
    'capped',
  )
  assert.equal(
    ended(() => undefined, true),
    'by-person',
  )
  assert.equal(
    ended(() => undefined),
    'completed',
    'a hook that was lost is not the hand of a person',
  )
  assert.equal(
    ended(turn => turn.adopted(undefined)),
    'completed',
    'its end was told while nobody listened',
  )
})

test('an agent that has not said yet that it works has not ended, however long it was idle before', () => {
  const { turn, later } = turnAt()
  turn.asked()
  turn.begun()
  assert.equal(turn.poll('idle', said('Before.')), undefined)
  later(10_000)
  assert.equal(turn.poll('idle', said('Before.')), undefined, 'a crowded machine takes its time')
  assert.equal(turn.poll('busy', said('Before.')), undefined)
  assert.equal(turn.poll('idle', said('Now.')), undefined)
  later(2_000)
  assert.deepEqual(
    turn.poll('idle', said('Now.')),
    { how: 'completed', text: 'Now.' },
    'once seen at work it is believed soon',
  )
})

test('a prompt that is not heard of gets Enter once more, three times, and is lost then', () => {
  const { turn, later } = turnAt()
  turn.asked()
  assert.equal(turn.poll('idle', said('')), undefined)
  later(1)
  for (const step of ['enter', 'enter', 'enter', 'lost']) {
    later(60_000)
    assert.equal(turn.poll('idle', said('')), step)
  }
  const busy = turnAt()
  busy.turn.asked()
  busy.later(60_000)
  assert.equal(busy.turn.poll('busy', said('')), 'begun', 'it has it, whatever became of the hook')
})

test('an end that comes before the prompt is heard of is that of an earlier turn; a prompt in time leaves none behind', () => {
  const { turn } = turnAt()
  turn.asked()
  turn.reportEnd({ how: 'completed', text: 'Old.' })
  assert.equal(turn.poll('busy', said('Old.')), 'begun')
  turn.begun()
  turn.reportEnd({ how: 'completed', text: 'First.' })
  assert.deepEqual(turn.begun(), { how: 'completed', text: 'First.' })
  assert.equal(turn.running, true)
  turn.stopAfterTools('pause')
  turn.reportEnd({ how: 'completed', text: 'Second.' })
  turn.statusUpdated()
  assert.deepEqual(turn.poll('idle', said('Second.')), { how: 'paused', text: 'Second.' }, 'it stopped where it could')
})
