// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The virtual clock as a page that processes map: /dev/fairwind-clock. It holds CLOCK_MONOTONIC of the clock source, in
 * nanoseconds since the kernel began. A read of the page costs nothing; one by a system call costs two switches
 * between processes.
 */
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/init.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>

/* The clock source counts in steps of so many nanoseconds: TIMER_MULTIPLIER in time.c. */
#define STEP 256

void fairwind_show_time(unsigned long long ns);

static unsigned long long *page;

void fairwind_show_time(unsigned long long ns)
{
	if (page)
		WRITE_ONCE(*page, ns / STEP * STEP);
}

static int clock_mmap(struct file *file, struct vm_area_struct *area)
{
	if (area->vm_end - area->vm_start != PAGE_SIZE || area->vm_pgoff || (area->vm_flags & VM_WRITE))
		return -EINVAL;
	return remap_pfn_range(area, area->vm_start, __pa(page) >> PAGE_SHIFT, PAGE_SIZE,
			       area->vm_page_prot);
}

static const struct file_operations operations = {
	.mmap = clock_mmap,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "fairwind-clock",
	.mode = 0444,
	.fops = &operations,
};

static int __init clock_init(void)
{
	page = (void *)get_zeroed_page(GFP_KERNEL);
	if (!page)
		return -ENOMEM;
	return misc_register(&device);
}
device_initcall(clock_init);
