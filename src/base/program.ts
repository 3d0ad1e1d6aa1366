// An ESM import of a built-in reads all its exports, which the hot commands would pay for at every start.
const { existsSync, readFileSync } = process.getBuiltinModule('node:fs')

/** A checkout runs its source; the published package has a bundle of it. */
const IS_SOURCE = import.meta.url.endsWith('.ts')

/** The folder of this package: the nearest one above this module that has a package.json. */
const ROOT = findRoot(new URL('./', import.meta.url))

function findRoot(folder: URL): URL {
  const above = new URL('../', folder)
  return existsSync(new URL('package.json', folder)) || above.href === folder.href ? folder : findRoot(above)
}

/** The path of a file or folder of this package, for example `bin/pcc.js`. */
export function packagePath(path: string): string {
  return decodeURIComponent(new URL(path, ROOT).pathname)
}

/** The file of a module that is started as a process or a thread. `path` is its path in `src`, without the extension. */
export function entryUrl(path: string): URL {
  return new URL(IS_SOURCE ? `src/${path}.ts` : `dist/${path}.js`, ROOT)
}

export function programVersion(): string {
  return (JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8')) as { version: string }).version
}
