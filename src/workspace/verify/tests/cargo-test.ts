import { BELOW, TestList, type TestParser } from './test-parser.ts'

/** `cargo test` tells every test, below the program that holds it. */
export function cargoTest(): TestParser {
  const list = new TestList()
  let program = ''
  let open = 0
  let results = 0
  return {
    runner: 'cargo',
    line(text) {
      const [, source, doc] = /^ +(?:Running (.+?) \(.*\)|Doc-tests (\S+))$/.exec(text) ?? []
      if (source !== undefined || doc !== undefined) program = source?.replace(/^unittests /, '') ?? `doc-tests ${doc}`
      if (/^running \d+ tests?$/.test(text)) open += 1
      if (/^test result: /.test(text)) results += 1
      const [, name, verdict] = /^test (.+) \.\.\. (ok|FAILED|ignored)(?:, .*)?$/.exec(text) ?? []
      if (name === undefined) return
      const path = name.replace(/ - should panic$/, '').replace(/ \(line \d+\)$/, '')
      const status = verdict === 'ok' ? 'passed' : verdict === 'FAILED' ? 'failed' : 'skipped'
      list.add([...(program === '' ? [] : [program]), path].join(BELOW), status)
    },
    results: () => (results > 0 && results === open ? list.all() : undefined),
  }
}
