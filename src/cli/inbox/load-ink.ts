export type Ink = typeof import('ink')

/** What draws full screens. React is told that this is no development: it would otherwise keep a record of every drawing. */
export async function loadInk(): Promise<Ink> {
  const { NODE_ENV } = process.env
  process.env['NODE_ENV'] = 'production'
  try {
    return await import('ink')
  } finally {
    if (NODE_ENV === undefined) delete process.env['NODE_ENV']
    else process.env['NODE_ENV'] = NODE_ENV
  }
}
