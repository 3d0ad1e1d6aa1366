import assert from 'node:assert/strict'
import { test } from 'node:test'
import { screenOf } from '../../../scripts/picture/screen.ts'
import { fitPrompt, openScreen } from '../../../src/cli/live/terminal.ts'
import { terminalOf } from '../../../src/cli/render/text.ts'

function onTerminal({ rows = 24, columns = 40 } = {}) {
  let sent = ''
  const stream = {
    isTTY: true,
    columns,
    rows,
    write: (text: string) => {
      sent += text.replaceAll('\n', '\r\n')
    },
  }
  const seen = () =>
    screenOf(sent, columns)
      .map(cells => cells.map(cell => cell.text).join(''))
      .filter(Boolean)
  return { screen: openScreen(stream), seen, sent: () => sent, stream }
}

test('pinned lines stay right above the prompt, whatever is printed meanwhile', () => {
  const { screen, seen } = onTerminal()
  screen.print(['one'])
  screen.pin(['wanted: Bash', '  npm test'])
  screen.prompt('Bash [y] [n] > ')
  screen.print(['two', 'three'])
  assert.deepEqual(seen(), ['one', 'two', 'three', 'wanted: Bash', '  npm test', 'Bash [y] [n] >'])
  screen.pin(['wanted: Bash', '  npm test', '(1 more waits)'])
  assert.deepEqual(seen().slice(-2), ['(1 more waits)', 'Bash [y] [n] >'])
  assert.equal(seen().filter(line => line.startsWith('wanted')).length, 1)
  screen.prompt(undefined)
  screen.pin(undefined)
  screen.print(['four'])
  assert.deepEqual(seen().slice(-3), ['  npm test', '(1 more waits)', 'four'])
})

test('pinned lines that are taller than the terminal are drawn again below what was printed', () => {
  const { screen, seen } = onTerminal({ rows: 3 })
  const tall = ['wanted', 'a', 'b', 'c']
  screen.pin(tall)
  screen.prompt('> ')
  screen.print(['said'])
  assert.deepEqual(seen(), [...tall, 'said', ...tall, '>'])
})

test('without a terminal pinned lines are printed once, as they are added', () => {
  let sent = ''
  const screen = openScreen({ write: (text: string) => (sent += text) })
  screen.pin(['wanted'])
  screen.pin(['wanted', '> y'])
  screen.prompt('never drawn')
  screen.pin(undefined)
  screen.print(['allowed'])
  assert.equal(sent, 'wanted\n> y\nallowed\n')
})

test('no line breaks within a word, also after the window got wider', () => {
  const { screen, seen, stream } = onTerminal()
  screen.print(['a line that is wider than forty columns here'])
  assert.deepEqual(seen(), ['a line that is wider than forty columns', 'here'])
  screen.pin(['options of which several may be chosen: red, blue'])
  screen.print(['said'])
  assert.deepEqual(seen().slice(2), ['said', 'options of which several may be chosen:', 'red, blue'])
  const terminal = terminalOf(stream, {})
  assert.equal(terminal.width, 40)
  stream.columns = 80
  assert.equal(terminal.width, 80)
})

test('a prompt that is too wide keeps its keys, and what was typed', () => {
  const keys = '[y] allow once  [n] deny  [t] deny and say why  > '
  assert.equal(fitPrompt(`   Bash npm run…  ${keys}`, 39), '[y] allow once [n] deny [t] say why > ')
  assert.equal(fitPrompt(`   Bash npm run…  ${keys}`, 60), keys)
  assert.equal(
    fitPrompt('   Colour [1-2] Toggle  [Enter] Done  [T]ype custom  > 1', 39),
    '[1-2] Toggle [Enter] Done [T]ype > 1',
  )
  assert.equal(fitPrompt(`  ${keys}`, 20), '[y] [n] [t] > ')
  assert.equal(fitPrompt('   Why not? > see [y] in the manual', 24), '…> see [y] in the manual')
})
