/** Tasks as JSON with a line for each: a person can search through it, and a program prints it as it came. */
export function taskListText(tasks: readonly object[]): string {
  const lines = tasks.map(task => JSON.stringify(task)).join(',\n')
  return `{"tasks":[${lines === '' ? '' : `\n${lines}\n`}]}`
}
