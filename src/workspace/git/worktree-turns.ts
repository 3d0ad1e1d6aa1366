/**
 * Who is at the worktrees of a repository, by its folder: the end of the line. It is one for the whole process, whoever asks, as the
 * repository is; that is why it is kept here.
 */
const lines = new Map<string, Promise<void>>()

/**
 * Waits until nobody else in this process adds or removes a worktree of a repository. Git takes its folder `worktrees` away with the
 * last one, also from under the feet of whoever is just adding the next. Nothing comes back where the signal ended the wait.
 */
export async function takeWorktreeTurn(repository: string, signal?: AbortSignal): Promise<Disposable | undefined> {
  const before = lines.get(repository) ?? Promise.resolve()
  const { promise: left, resolve: leave } = Promise.withResolvers<void>()
  const line = before.then(() => left)
  lines.set(repository, line)
  void line.then(() => {
    if (lines.get(repository) === line) lines.delete(repository)
  })
  await firstOf(before, signal)
  if (!signal?.aborted) return { [Symbol.dispose]: leave }
  leave()
  return undefined
}

async function firstOf(turn: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (!signal) return turn
  const { promise: calledOff, resolve } = Promise.withResolvers<void>()
  const callOff = () => resolve()
  signal.addEventListener('abort', callOff, { once: true })
  if (signal.aborted) resolve()
  await Promise.race([turn, calledOff])
  signal.removeEventListener('abort', callOff)
}
