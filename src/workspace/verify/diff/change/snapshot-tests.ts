/** Where the tests of a recorded expectation may lie, by the habits of the runners. */
export function testsOfSnapshot(path: string): string[] {
  const parts = path.split('/')
  const name = parts.pop() ?? ''
  const folder = parts.at(-1)
  const above = parts.slice(0, -1).join('/')
  const inside = (where: string, file: string) => (where === '' ? file : `${where}/${file}`)
  const plain = name.replace(/\.(snap|snapshot|ambr|golden)$/, '')
  if (folder === '__snapshots__') return [inside(above, plain), inside(above, `${plain}.py`)]
  if (folder === 'snapshots') {
    // insta names it `crate__module__test.snap`, and keeps it beside the module.
    const module = plain.split('__').at(-2)
    return [inside(above, plain), ...(module === undefined ? [] : [inside(above, `${module}.rs`)])]
  }
  return []
}
