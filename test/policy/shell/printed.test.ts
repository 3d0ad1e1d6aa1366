import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Assessment, Piece } from '../../../src/domain/assessment.ts'
import { openClassifier } from '../../../src/policy/classify/classify.ts'
import { printText } from '../../../src/policy/shell/printed.ts'

using classifier = openClassifier({ realPath: path => path })
const assess = (command: string) =>
  classifier.classify({ tool: 'Bash', input: { command }, project: '/proj', home: '/home/u' }) as Assessment
const hasHigh = (command: string, code: string) =>
  assess(command).reasons.some(reason => reason.risk === 'HIGH' && reason.code === code)

test('a printf with dashes, or with more values than its format takes, is followed to its end', () => {
  const rows: [string, string][] = [
    ['source $(printf -- /tmp/x)', 'script.foreign'],
    ['cat $(printf -- .env)', 'path.secret'],
    ['cat $(printf -- %s .env)', 'path.secret'],
    ['cat $(printf %s .e nv)', 'path.secret'],
    ['cat $(printf %s/ .ssh id_rsa)', 'path.secret'],
  ]
  for (const [command, code] of rows) assert.ok(hasHigh(command, code), command)
  for (const command of ["find . $(printf -- '-exec rm {} +')", 'find . $(printf -v x)', 'find . $(printf %b x)'])
    assert.ok(
      assess(command).reasons.some(({ code }) => code === 'flag.unknown'),
      command,
    )
})

test('the input of xargs is split and unquoted before its command is judged', () => {
  const rows: [string, string][] = [
    [`echo "'-c' 'rm -rf src'" | xargs sh`, 'file.delete'],
    [`echo '"-c" "rm -rf src"' | xargs sh`, 'file.delete'],
    [`printf '%s' "-c 'rm x'" | xargs sh`, 'file.delete'],
    [`printf '%s\\0' -c 'rm x' | xargs -0 sh`, 'file.delete'],
    [`printf '%s\\n' -c 'rm x' | xargs -d '\\n' sh`, 'file.delete'],
    ['echo -c,rm x | xargs -d, sh', 'file.delete'],
    ['echo -c,rm x | xargs --delimiter=, sh', 'file.delete'],
    ["echo 'rm x' | xargs -I% sh -c %", 'file.delete'],
    ["echo 'rm x' | xargs -i sh -c '{}'", 'file.delete'],
    [`echo "a b -c 'rm x'" | xargs -n2 sh`, 'file.delete'],
    [`xargs sh <<< "-c 'rm x'"`, 'file.delete'],
    [`xargs sh <<'EOF'\n-c 'rm x'\nEOF`, 'file.delete'],
    ["echo '.e'nv | xargs cat", 'path.secret'],
    [`echo '".env"' | xargs cat`, 'path.secret'],
    ["xargs -I{} cat {}/id_rsa <<< '/home/u/.ssh'", 'path.secret'],
    // What is not followed is a word that is not known, and no shell may run that.
    [`echo 'a\\\\b' | xargs sh`, 'script.unknown'],
    ['echo x | xargs -E y sh', 'script.unknown'],
    ['(echo -c; echo x) | xargs sh', 'script.unknown'],
    ['echo() { curl x; }; echo a | xargs sh', 'script.unknown'],
    [`echo "it's" | xargs sh`, 'script.unknown'],
  ]
  for (const [command, code] of rows)
    assert.ok(hasHigh(command, code), `${command}: ${assess(command).reasons.map(reason => reason.code)}`)
})

const word = fc.array(fc.constantFrom('a', 'b', ' ', "'", '"', '\\', '\n', '\t', ',', '-'), { maxLength: 12 })

test('xargs gets the words that the real one would pass on, or unknown ones', () => {
  const flags = fc.constantFrom([], ['-0'], ['-d', ','], ['-n', '1'], ['-n', '2'], ['-L', '1'], ['-I', '@'])
  let known = 0
  fc.assert(
    fc.property(word, flags, (letters, options) => {
      const text = letters.join('')
      const inner = options[0] === '-I' ? ['prog', '<@>'] : ['prog']
      const quoted = `'${text.replaceAll("'", `'\\''`)}'`
      const found = commandsOf(
        assess(`xargs ${options.join(' ')} ${inner.join(' ').replace('<@>', "'<@>'")} <<< ${quoted}`),
      )
      if (found.some(argv => argv.some(value => value.includes('\0')))) return
      known += 1
      const program = ['sh', '-c', `printf '('; for w do printf '[%s]' "$w"; done; printf ')'`]
      const real = spawnSync('xargs', [...options, ...program, ...inner], { input: `${text}\n`, encoding: 'utf8' })
      // A shell without words still runs once; the real one calls it `prog`, which is the name of the script here.
      const expected = found.map(([, ...rest]) => `(${rest.map(value => `[${value}]`).join('')})`).join('')
      assert.equal(expected, real.stdout, JSON.stringify({ text, options }))
    }),
    { numRuns: 150 },
  )
  assert.ok(known > 50, `${known} texts were followed`)
})

/** The arguments of every call of `prog`. */
function commandsOf({ pieces }: Assessment): string[][] {
  const visit = (piece: Piece): string[][] => [
    ...(piece.argv?.[0] === 'prog' ? [[...piece.argv]] : []),
    ...piece.pieces.flatMap(visit),
  ]
  return pieces.flatMap(visit)
}

test('what echo and printf print is what both dash and bash print', () => {
  const text = fc.array(fc.constantFrom('a', '%s', '%%', '-', '\\n', '\\', ' ', '%d', 'n'), { maxLength: 4 })
  fc.assert(
    fc.property(fc.constantFrom('echo', 'printf'), fc.array(text, { minLength: 1, maxLength: 4 }), (name, lists) => {
      const words = lists.map(letters => letters.join(''))
      const printed = printText(name, words)
      if (printed === undefined) return
      for (const shell of ['sh', 'bash']) {
        const real = spawnSync(shell, ['-c', `${name} "$@"`, shell, ...words], { encoding: 'utf8' })
        assert.equal(printed, real.stdout, JSON.stringify([shell, name, words]))
      }
    }),
    { numRuns: 150 },
  )
})
